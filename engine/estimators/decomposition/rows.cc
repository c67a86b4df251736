// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/decomposition/factor_analysis.h"
#include "engine/estimators/decomposition/fast_ica.h"
#include "engine/estimators/decomposition/incremental_pca.h"
#include "engine/estimators/decomposition/memory.h"
#include "engine/estimators/decomposition/nmf.h"
#include "engine/estimators/decomposition/pca.h"
#include "engine/estimators/decomposition/random_projection.h"
#include "engine/estimators/decomposition/truncated_svd.h"

namespace kedge::engine {

void add_decomposition(Rows& rows) {
  add<FactorAnalysis>(rows, FactorAnalysis<double>::memory, {38, 1, 6});
  add<FastICA>(rows, FastICA<double>::memory, {260, 1});
  add<NMF>(rows, NMF<double>::memory, {50, 7});
  add<PCA>(
      rows, memory::principal_components, {6, 1},
      {.host_part = "the sum of the blocks' Gram matrices", .dealt = DealtFit::kOwnRows, .leaves = RowsLeft::kGiven});
  add<IncrementalPCA>(rows, memory::incremental_components, {6, 1}, {.host_part = "the stack of each batch"});
  add<TruncatedSVD>(rows, memory::truncated_components, {7, 1},
                    {.dealt = DealtFit::kOwnRows, .leaves = RowsLeft::kGiven});
  add<GaussianRandomProjection>(rows, GaussianRandomProjection<double>::memory, {0, 1});
  add<SparseRandomProjection>(rows, SparseRandomProjection<double>::memory, {0, 1});
}

}  // namespace kedge::engine
