// The silhouette: all distances once, in blocks that stay in the cache, four rows against eight columns at a time.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/first_error.h"
#include "engine/core/stop.h"
#include "engine/metrics/cluster_rows.h"
#include "engine/metrics/cluster_shape.h"
#include "engine/metrics/sums.h"

namespace kedge::engine {
namespace {

constexpr int kWidth = 8, kQuad = 4;          // columns of a panel; rows that share its loads
constexpr int kBlockRows = 32;                // rows that share a panel while it is in the first-level cache
constexpr std::int64_t kThreadWork = 1 << 20;   // less is done faster than threads wake up
using Lanes = double __attribute__((vector_size(kWidth * sizeof(double))));
using BlockSums = std::array<Lanes, kBlockRows>;   // by row: sums of distances, by column of a panel

// The rows sorted by cluster and cut into panels of eight, each of one cluster: panel[f * 8 + l] is feature f of its l-th row.
// The last panel of a cluster is filled up with zeros.
struct Panels {
  std::int64_t d;
  std::vector<std::int64_t> first_panel;   // by cluster, and the end
  std::vector<double> data;
  const double* panel(std::int64_t p) const { return data.data() + p * d * kWidth; }
};

Panels make_panels(const ClusterView& view, const Groups& groups) {
  Panels panels{view.n_features, {0}, {}};
  for (std::int64_t size : groups.sizes) panels.first_panel.push_back(panels.first_panel.back() + (size + kWidth - 1) / kWidth);
  panels.data.resize(static_cast<std::size_t>(panels.first_panel.back() * panels.d * kWidth));
  std::vector<std::int64_t> filled(groups.sizes.size());
  for (std::size_t i = 0; i < groups.of_row.size(); ++i) {
    const auto c = static_cast<std::size_t>(groups.of_row[i]);
    const std::int64_t at = filled[c]++;
    double* panel = panels.data.data() + (panels.first_panel[c] + at / kWidth) * panels.d * kWidth + at % kWidth;
    for (std::int64_t f = 0; f < panels.d; ++f) panel[f * kWidth] = view.X[i * static_cast<std::size_t>(panels.d) + static_cast<std::size_t>(f)];
  }
  return panels;
}

// Adds the distances of a block's rows (row-major) to the first `columns` rows of a panel.
KEDGE_CLONES void add_distances(const double* rows, std::int64_t d, const double* panel, int columns, BlockSums& sums) {
  for (int q = 0; q < kBlockRows; q += kQuad) {
    Lanes squares[kQuad] = {};
    for (std::int64_t f = 0; f < d; ++f) {
      Lanes column;
      __builtin_memcpy(&column, panel + f * kWidth, sizeof(column));
      for (int r = 0; r < kQuad; ++r) {
        const Lanes difference = column - rows[(q + r) * d + f];
        squares[r] += difference * difference;
      }
    }
    for (int r = 0; r < kQuad; ++r) {
      double distance[kWidth];
      __builtin_memcpy(distance, &squares[r], sizeof(distance));
      for (double& value : distance) value = std::sqrt(value);
      for (int l = columns; l < kWidth; ++l) distance[l] = 0;
      Lanes added;
      __builtin_memcpy(&added, distance, sizeof(added));
      sums[static_cast<std::size_t>(q + r)] += added;
    }
  }
}

double sum_of(const Lanes& lanes) {
  double sum = 0;
  for (int l = 0; l < kWidth; ++l) sum += lanes[l];
  return sum;
}

// Of one row: mean distance to the others of its cluster, and to the nearest other cluster.
struct Neighbourhood {
  double own = 0, nearest = std::numeric_limits<double>::infinity();

  void meet(double distances, std::int64_t size, bool is_own) {
    if (is_own) {
      own = distances / static_cast<double>(size - 1);   // NaN for a row alone
    } else {
      nearest = std::min(nearest, distances / static_cast<double>(size));
    }
  }
  double silhouette() const {
    const double value = (nearest - own) / std::max(own, nearest);
    return std::isfinite(value) ? value : 0.0;
  }
};

// Silhouettes of rows first .. first + count - 1.
void score_block(const ClusterView& view, const Groups& groups, const Panels& panels, std::int64_t first, std::int64_t count,
                 double* silhouettes) {
  std::vector<double> rows(static_cast<std::size_t>(kBlockRows * panels.d));
  std::copy_n(view.X.begin() + first * panels.d, count * panels.d, rows.begin());
  std::vector<Neighbourhood> found(static_cast<std::size_t>(count));
  for (std::size_t c = 0; c < groups.sizes.size(); ++c) {
    BlockSums sums = {};
    std::int64_t left = groups.sizes[c];
    for (std::int64_t p = panels.first_panel[c]; p < panels.first_panel[c + 1]; ++p, left -= kWidth) {
      check_job_stop();
      add_distances(rows.data(), panels.d, panels.panel(p), static_cast<int>(std::min<std::int64_t>(left, kWidth)), sums);
    }
    for (std::size_t r = 0; r < found.size(); ++r) {
      const bool is_own = groups.of_row[static_cast<std::size_t>(first) + r] == static_cast<std::int32_t>(c);
      found[r].meet(sum_of(sums[r]), groups.sizes[c], is_own);
    }
  }
  for (std::size_t r = 0; r < found.size(); ++r) silhouettes[static_cast<std::size_t>(first) + r] = found[r].silhouette();
}

}  // namespace

double silhouette_score(const ClusterView& view) {
  const Groups groups = checked_clusters("silhouette_score", view);
  const Panels panels = make_panels(view, groups);
  const auto n = static_cast<std::int64_t>(view.labels.size());
  std::vector<double> silhouettes(view.labels.size());
  FirstError error;
#pragma omp parallel for schedule(dynamic) if (n * n * view.n_features > kThreadWork)
  for (std::int64_t first = 0; first < n; first += kBlockRows)
    error.run([&] { score_block(view, groups, panels, first, std::min<std::int64_t>(kBlockRows, n - first), silhouettes.data()); });
  error.rethrow();
  return row_sum(n, [&](std::int64_t i) { return silhouettes[static_cast<std::size_t>(i)]; }) / static_cast<double>(n);
}

}  // namespace kedge::engine
