// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/trees/memory.h"
#include "engine/estimators/trees/tree_estimators.h"

namespace kedge::engine {

constexpr const char* kForestOfClasses =
    "the drawing of rows that have weights, and the choice of leaves for max_leaf_nodes; with draws sklearn all of fit";

constexpr const char* kForestOfValues =
    "the drawing of rows and their values in fixed units, and the choice of leaves for max_leaf_nodes; with absolute_error or draws sklearn all of fit";

constexpr const char* kTree =
    "fit, where a column has more than 256 values or draws is sklearn; else the drawing of rows, and the choice of leaves for max_leaf_nodes";

void add_trees(Rows& rows) {
  add<DecisionTreeClassifier>(rows, memory::tree_classifier, {8, 2, 52},
                              {.wants_value_counts = true, .host_part = kTree});
  add<DecisionTreeRegressor>(rows, memory::tree_regressor, {9, 1, 48},
                             {.wants_value_counts = true, .host_part = kTree});
  add<RandomForestClassifier>(rows, memory::forest_classifier, {8, 2, 52},
                              {.host_part = kForestOfClasses, .dealt = DealtFit::kTrees});
  add<RandomForestRegressor>(rows, memory::forest_regressor, {9, 1, 48},
                             {.host_part = kForestOfValues, .dealt = DealtFit::kTrees});
  add<ExtraTreesClassifier>(rows, memory::extra_trees_classifier, {16, 2, 52},
                            {.host_part = kForestOfClasses, .dealt = DealtFit::kTrees});
  add<ExtraTreesRegressor>(rows, memory::extra_trees_regressor, {13, 1, 48},
                           {.host_part = kForestOfValues, .dealt = DealtFit::kTrees});
}

}  // namespace kedge::engine
