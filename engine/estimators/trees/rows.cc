// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/trees/memory.h"
#include "engine/estimators/trees/tree_estimators.h"

namespace kedge::engine {

constexpr const char* kForest =
    "the bins of columns, the drawing of rows and the bookkeeping of nodes; with absolute_error all of fit";

constexpr const char* kTree =
    "fit, where a column has more than 256 values; else the bins of columns and the bookkeeping of nodes";

void add_trees(Rows& rows) {
  add<DecisionTreeClassifier>(rows, memory::tree_classifier, {.wants_value_counts = true, .host_part = kTree});
  add<DecisionTreeRegressor>(rows, memory::tree_regressor, {.wants_value_counts = true, .host_part = kTree});
  add<RandomForestClassifier>(rows, memory::forest_classifier, {.host_part = kForest});
  add<RandomForestRegressor>(rows, memory::forest_regressor, {.host_part = kForest});
  add<ExtraTreesClassifier>(rows, memory::extra_trees_classifier, {.host_part = kForest});
  add<ExtraTreesRegressor>(rows, memory::extra_trees_regressor, {.host_part = kForest});
}

}  // namespace kedge::engine
