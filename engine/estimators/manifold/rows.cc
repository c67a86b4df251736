// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/manifold/spectral_embedding.h"
#include "engine/estimators/manifold/tsne.h"
#include "engine/estimators/manifold/umap.h"

namespace kedge::engine {

void add_manifold(Rows& rows) {
  add<TSNE>(rows, TSNE<float>::memory, {20, 0, 1600},
            {.host_part = "the widths of the neighbourhoods, and beyond 200,000 rows the descent"});
  add<SpectralEmbedding>(rows, SpectralEmbedding<float>::memory, {200, 0, 1600},
                         {.host_part = "the edges between neighbours"});
  add<UMAP>(rows, UMAP<float>::memory, {200, 10, 1600}, {.host_part = "the graph of the rows, from their neighbours"});
}

}   // namespace kedge::engine
