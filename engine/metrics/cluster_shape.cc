// Shapes of clusters from sums around their means (sklearn/metrics/cluster/_unsupervised.py); silhouette.cc has the third.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/stop.h"
#include "engine/metrics/cluster_rows.h"
#include "engine/metrics/cluster_shape.h"
#include "engine/metrics/sums.h"

namespace kedge::engine {
namespace {

constexpr double kCloseToZero = 1e-8;   // numpy.isclose's

double squared_distance(const double* a, const double* b, std::int64_t d) {
  return lane_sum(d, [&](std::int64_t j) { return (a[j] - b[j]) * (a[j] - b[j]); });
}

// Mean of each cluster, row-major.
std::vector<double> centroids(const ClusterView& view, const Groups& groups) {
  const auto d = static_cast<std::size_t>(view.n_features);
  std::vector<double> means(groups.sizes.size() * d);
  for (std::size_t i = 0; i < groups.of_row.size(); ++i) {
    double* mean = means.data() + static_cast<std::size_t>(groups.of_row[i]) * d;
    for (std::size_t j = 0; j < d; ++j) mean[j] += view.X[i * d + j];
  }
  for (std::size_t c = 0; c < groups.sizes.size(); ++c) {
    for (std::size_t j = 0; j < d; ++j) means[c * d + j] /= static_cast<double>(groups.sizes[c]);
  }
  return means;
}

std::vector<double> column_means(const ClusterView& view) {
  const auto d = static_cast<std::size_t>(view.n_features), n = view.labels.size();
  std::vector<double> mean(d);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < d; ++j) mean[j] += view.X[i * d + j];
  }
  for (double& value : mean) value /= static_cast<double>(n);
  return mean;
}

// term(squared distance of a row to its centroid), summed over the rows of each cluster in row order.
template <class Term>
std::vector<double> sums_within(const ClusterView& view, const Groups& groups, const std::vector<double>& means, const Term& term) {
  const auto n = static_cast<std::int64_t>(groups.of_row.size()), d = view.n_features;
  std::vector<double> distance(groups.of_row.size()), sums(groups.sizes.size());
#pragma omp parallel for schedule(static) if (n * d >= kSumThreadRows)
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    distance[at] = term(squared_distance(view.X.data() + i * d, means.data() + groups.of_row[at] * d, d));
  }
  for (std::size_t i = 0; i < distance.size(); ++i) sums[static_cast<std::size_t>(groups.of_row[i])] += distance[i];
  return sums;
}

bool all_close_to_zero(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::abs(value) <= kCloseToZero; });
}

}  // namespace

double calinski_harabasz_score(const ClusterView& view) {
  const Groups groups = checked_clusters("calinski_harabasz_score", view);
  const std::vector<double> means = centroids(view, groups), mean = column_means(view);
  double between = 0, within = 0;
  for (std::size_t c = 0; c < groups.sizes.size(); ++c) {
    between += static_cast<double>(groups.sizes[c]) *
               squared_distance(means.data() + c * mean.size(), mean.data(), view.n_features);
  }
  for (double sum : sums_within(view, groups, means, [](double square) { return square; })) within += sum;
  const auto n = static_cast<double>(view.labels.size()), k = static_cast<double>(groups.sizes.size());
  return within == 0 ? 1.0 : between * (n - k) / (within * (k - 1));
}

double davies_bouldin_score(const ClusterView& view) {
  const Groups groups = checked_clusters("davies_bouldin_score", view);
  const std::vector<double> means = centroids(view, groups);
  const std::size_t k = groups.sizes.size();
  std::vector<double> spread = sums_within(view, groups, means, [](double square) { return std::sqrt(square); });
  for (std::size_t c = 0; c < k; ++c) spread[c] /= static_cast<double>(groups.sizes[c]);
  double sum = 0, farthest = 0;
  for (std::size_t a = 0; a < k; ++a) {
    check_job_stop();
    double worst = 0;
    for (std::size_t b = 0; b < k; ++b) {
      const auto d = static_cast<std::size_t>(view.n_features);
      const double distance = std::sqrt(squared_distance(means.data() + a * d, means.data() + b * d, view.n_features));
      farthest = std::max(farthest, distance);
      if (distance > 0) worst = std::max(worst, (spread[a] + spread[b]) / distance);
    }
    sum += worst;
  }
  return all_close_to_zero(spread) || farthest <= kCloseToZero ? 0.0 : sum / static_cast<double>(k);
}

}  // namespace kedge::engine
