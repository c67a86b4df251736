// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/outliers/isolation_forest.h"
#include "engine/estimators/outliers/local_outlier_factor.h"

namespace kedge::engine {

void add_outliers(Rows& rows) {
  add<IsolationForest>(rows, IsolationForest<double>::memory, {1, 3, 144},
                       {.host_part = "the trees, from the rows drawn for them"});
  add<LocalOutlierFactor>(
      rows, LocalOutlierFactor<double>::memory, {4, 6, 24},
      {.host_part = "with at most 10 columns, the tree of the points", .dealt = DealtFit::kRowSums});
}

}   // namespace kedge::engine
