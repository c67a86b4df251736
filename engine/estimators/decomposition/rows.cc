// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/decomposition/factor_analysis.h"
#include "engine/estimators/decomposition/fast_ica.h"
#include "engine/estimators/decomposition/incremental_pca.h"
#include "engine/estimators/decomposition/memory.h"
#include "engine/estimators/decomposition/pca.h"
#include "engine/estimators/decomposition/random_projection.h"
#include "engine/estimators/decomposition/truncated_svd.h"

namespace kedge::engine {

void add_decomposition(Rows& rows) {
  add<FactorAnalysis>(rows, FactorAnalysis<double>::memory);
  add<FastICA>(rows, FastICA<double>::memory);
  add<PCA>(rows, memory::principal_components, {.host_part = "the sum of the blocks' Gram matrices"});
  add<IncrementalPCA>(rows, memory::incremental_components, {.host_part = "the stack of each batch"});
  add<TruncatedSVD>(rows, memory::truncated_components);
  add<GaussianRandomProjection>(rows, GaussianRandomProjection<double>::memory);
  add<SparseRandomProjection>(rows, SparseRandomProjection<double>::memory);
}

}  // namespace kedge::engine
