// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/selection/error_rate_selection.h"
#include "engine/estimators/selection/feature_selection.h"
#include "engine/estimators/selection/generic_selection.h"
#include "engine/estimators/selection/memory.h"

namespace kedge::engine {

void add_selection(Rows& rows) {
  add<VarianceThreshold>(rows, memory::takes_columns, {4, 1});
  add<SelectKBest>(rows, memory::k_best, {4, 1});
  add<SelectPercentile>(rows, memory::takes_columns, {4, 1});
  add<SelectFpr>(rows, memory::takes_columns, {5, 1});
  add<SelectFdr>(rows, memory::takes_columns, {5, 1});
  add<SelectFwe>(rows, memory::takes_columns, {5, 1});
  add<GenericUnivariateSelect>(rows, memory::generic_selection, {4, 1});
}

}  // namespace kedge::engine
