// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/neural_network/mlp.h"

namespace kedge::engine {

void add_neural_network(Rows& rows) {
  add<MLPClassifier>(rows, MLPClassifier<float>::memory, {7, 3});
  add<MLPRegressor>(rows, MLPRegressor<float>::memory, {7, 1});
}

}   // namespace kedge::engine
