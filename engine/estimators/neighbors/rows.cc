// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/neighbors/k_neighbors_classifier.h"
#include "engine/estimators/neighbors/kernel_density.h"
#include "engine/estimators/neighbors/memory.h"
#include "engine/estimators/neighbors/nearest_centroid.h"
#include "engine/estimators/neighbors/neighbor_estimators.h"

namespace kedge::engine {

constexpr const char* kNeighbours =
    "the votes or means of neighbours, and with at most 10 columns the tree of the points";

void add_neighbors(Rows& rows) {
  add<KNeighborsClassifier>(rows, memory::neighbours, {0, 6}, {.host_part = kNeighbours});
  add<KNeighborsRegressor>(rows, memory::neighbours, {0, 2}, {.host_part = kNeighbours});
  add<RadiusNeighborsClassifier>(rows, memory::neighbours, {0, 8}, {.host_part = kNeighbours});
  add<RadiusNeighborsRegressor>(rows, memory::neighbours, {0, 3}, {.host_part = kNeighbours});
  add<NearestCentroid>(rows, NearestCentroid<double>::memory, {4, 3},
                       {.host_part = "with metric \"manhattan\" the lists of the rows of each class"});
  add<KernelDensity>(rows, KernelDensity<double>::memory, {1, 1});
  add<NearestNeighbors>(rows, memory::neighbours, {0, 0},
                        {.host_part = "with at most 10 columns, the tree of the points"});
}

}  // namespace kedge::engine
