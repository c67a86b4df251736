// Checks clusters.
#include "engine/metrics/cluster_rows.h"

#include <algorithm>
#include <cmath>

#include "engine/core/require.h"

namespace kedge::engine {

using schema::ErrorCode;

Groups checked_clusters(const char* metric, const ClusterView& clusters) {
  const auto n = static_cast<std::int64_t>(clusters.labels.size());
  require(static_cast<std::int64_t>(clusters.X.size()) == n * clusters.n_features, ErrorCode::kInternal,
          "{}: X has {} numbers, must have {} rows of {}", metric, clusters.X.size(), n, clusters.n_features);
  Groups groups = group_rows(clusters.labels);
  require(groups.n_groups() >= 2 && groups.n_groups() < n, ErrorCode::kBadData,
          "{}: there are {} clusters of {} rows, must be at least 2 and fewer than the rows", metric, groups.n_groups(), n);
  const auto bad = std::find_if(clusters.X.begin(), clusters.X.end(), [](double x) { return !std::isfinite(x); });
  require(bad == clusters.X.end(), ErrorCode::kBadData, "{}: X is not finite in row {}, column {} (counted from 0)", metric,
          (bad - clusters.X.begin()) / std::max<std::int64_t>(clusters.n_features, 1),
          (bad - clusters.X.begin()) % std::max<std::int64_t>(clusters.n_features, 1));
  return groups;
}

}  // namespace kedge::engine
