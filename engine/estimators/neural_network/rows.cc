// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/neural_network/mlp.h"

namespace kedge::engine {

void add_neural_network(Rows& rows) {
  constexpr RowTraits kTraits{.dealt = DealtFit::kRowSums, .dealt_solver = "lbfgs"};   // else batch after batch
  add<MLPClassifier>(rows, MLPClassifier<float>::memory, {7, 3}, kTraits);
  add<MLPRegressor>(rows, MLPRegressor<float>::memory, {7, 1}, kTraits);
}

}   // namespace kedge::engine
