// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/neighbors/k_neighbors_classifier.h"
#include "engine/estimators/neighbors/memory.h"
#include "engine/estimators/neighbors/neighbor_estimators.h"

namespace kedge::engine {

void add_neighbors(Rows& rows) {
  add<KNeighborsClassifier>(rows, memory::neighbours);
  add<KNeighborsRegressor>(rows, memory::neighbours);
  add<RadiusNeighborsClassifier>(rows, memory::neighbours);
  add<RadiusNeighborsRegressor>(rows, memory::neighbours);
  add<NearestNeighbors>(rows, memory::neighbours);
}

}  // namespace kedge::engine
