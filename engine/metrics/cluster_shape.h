// How compact clusters are and how far apart, from the rows and their labels alone, as the functions of the same names
// in sklearn.metrics (1.9) with euclidean distances.
#pragma once

#include <cstdint>
#include <span>

namespace kedge::engine {

// X: n x n_features, row-major, finite. labels: n, any integers; noise (-1) counts as a cluster, as in scikit-learn.
struct ClusterView {
  std::span<const double> X;
  std::int64_t n_features = 0;
  std::span<const std::int32_t> labels;
};

// Errors of all: kBadData unless there are 2 to n - 1 clusters, and for X that is not finite. Deterministic on any number of threads.

// Mean of (b - a) / max(a, b) over rows: a, b the mean distance to the others of the own and to the nearest other cluster; 0 for a
// row alone. Cost: n^2 distances, taken by differences, so that near rows keep their digits; no n^2 memory.
double silhouette_score(const ClusterView& clusters);
// Variance between clusters by variance within (Calinski, Harabasz, 1974); 1 if there is none within. Linear.
double calinski_harabasz_score(const ClusterView& clusters);
// Mean over clusters of the worst (spread + spread) / distance to another (Davies, Bouldin, 1979); smaller is better. Linear, and
// clusters^2.
double davies_bouldin_score(const ClusterView& clusters);

}  // namespace kedge::engine
