// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/trees/memory.h"
#include "engine/estimators/trees/tree_estimators.h"

namespace kedge::engine {

void add_trees(Rows& rows) {
  add<DecisionTreeClassifier>(rows, memory::tree_classifier, {.wants_value_counts = true});
  add<DecisionTreeRegressor>(rows, memory::tree_regressor, {.wants_value_counts = true});
  add<RandomForestClassifier>(rows, memory::forest_classifier);
  add<RandomForestRegressor>(rows, memory::forest_regressor);
  add<ExtraTreesClassifier>(rows, memory::extra_trees_classifier);
  add<ExtraTreesRegressor>(rows, memory::extra_trees_regressor);
}

}  // namespace kedge::engine
