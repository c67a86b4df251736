// The ops of k-means on the CPU except its iterations: nearest centres, sums by label, and the draws of k-means++.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/backend/cpu/clusters/center_scores.h"
#include "engine/backend/cpu/clusters/moving_centers.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

// Most rows are nearer to a centre that they have than to a new one, which scores prove; the distances of the others
// are computed.
template <class T>
void keep_closer(MatrixView<const T> X, const Centers<T>& centers, VectorView<const T> closest, MatrixView<T> least) {
  const std::int64_t d = X.cols, k = centers.rows.rows;
  std::vector<T> dots(static_cast<std::size_t>(closest.empty() ? 0 : X.rows * k));
  std::vector<double> norms(static_cast<std::size_t>(closest.empty() ? 0 : X.rows));   // squared
  double largest = 0;
  if (!closest.empty()) {
    multiply_few(X, centers.rows, MatrixView<T>(dots.data(), X.rows, k));
    for (std::int64_t i = 0; i < X.rows; ++i) {
      const double norm = rough_squared_norm(raw(X) + i * X.stride, d);
      norms[static_cast<std::size_t>(i)] = norm, largest = std::max(largest, norm);
    }
  }
  const double error = 2 * static_cast<double>(error_of_scores(largest, centers.largest, d));
  for (std::int64_t i = 0; i < X.rows; ++i) {
    const T* const row = raw(X) + i * X.stride;
    const auto is_farther = [&](std::int64_t c) {   // false if anything is NaN
      const T score = centers.norms[static_cast<std::size_t>(c)] - 2 * dots[static_cast<std::size_t>(i * k + c)];
      return static_cast<double>(score) + (norms[static_cast<std::size_t>(i)] - error) >
             static_cast<double>(raw(closest)[i]);
    };
    for (std::int64_t c = 0; c < k; ++c) {
      T& kept = raw(least)[c * least.stride + i];
      if (!closest.empty() && is_farther(c)) {
        kept = raw(closest)[i];
        continue;
      }
      kept = static_cast<T>(squared_between(row, raw(centers.rows) + c * centers.rows.stride, d));
      if (!closest.empty()) kept = std::min(kept, raw(closest)[i]);
    }
  }
}

// The sums of groups of kRowTile tiles, each in the order of its tiles; fill_own() sums up the tiles of this rank's
// rows. Ranks bring the sum of a group that is all theirs, and of other groups the tiles, which every rank then has.
template <class FillOwn>
std::vector<double> group_sums(Ranks* ranks, std::int64_t n, std::vector<double>& tiles, const FillOwn& fill_own) {
  constexpr std::int64_t kGroupRows = kRowTile * kRowTile;
  std::vector<double> groups(static_cast<std::size_t>(tiles_of(n, kGroupRows)));
  // visit(group, first tile, end of the tiles, whether it is the whole group) for each part of a group within the rows.
  const auto parts_of = [&](Part rows, const auto& visit) {
    for (std::int64_t first = rows.begin; first < rows.end;) {
      const std::int64_t group = first / kGroupRows, end = std::min(rows.end, (group + 1) * kGroupRows);
      const bool is_whole = first == group * kGroupRows && end == std::min(n, (group + 1) * kGroupRows);
      visit(group, first / kRowTile, tiles_of(end, kRowTile), is_whole);
      first = end;
    }
  };
  const auto sum_of = [&](std::int64_t first, std::int64_t end) {
    return std::accumulate(tiles.begin() + first, tiles.begin() + end, 0.0);
  };
  const std::vector<double> brought = parts_of_ranks<double>(ranks, [&] {
    fill_own();
    std::vector<double> mine;
    parts_of(own_rows(ranks, n), [&](std::int64_t, std::int64_t first, std::int64_t end, bool is_whole) {
      if (is_whole) mine.push_back(sum_of(first, end));
      else mine.insert(mine.end(), tiles.begin() + first, tiles.begin() + end);
    });
    return mine;
  });
  auto from = brought.begin();
  for (int r = 0; r < (ranks ? ranks->size() : 1); ++r) {
    const Part rows = ranks ? rows_of_rank(r, ranks->size(), n) : Part{0, n};
    parts_of(rows, [&](std::int64_t group, std::int64_t first, std::int64_t end, bool is_whole) {
      double& sum = groups[static_cast<std::size_t>(group)];
      if (is_whole) {
        sum = *from++;
        return;
      }
      for (std::int64_t tile = first; tile < end; ++tile) sum += tiles[static_cast<std::size_t>(tile)] = *from++;
    });
  }
  return groups;
}

template <class T>
class CpuClusters final : public ClusterOps<T> {
 public:
  std::int64_t assign_nearest(MatrixView<const T> X, MatrixView<const T> centers,
                              VectorView<std::int32_t> labels) override {
    const NearestCenters<T> nearest(centers, X);
    std::vector<std::int64_t> changed(static_cast<std::size_t>(tiles_of(X.rows, kScoredRows)), 0);
    for_tiles(X.rows, kScoredRows, X.size() * (centers.rows / 16 + 1) + X.rows * centers.rows,
              [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
                std::int32_t rows[kScoredRows];
                Nearest found[kScoredRows];
                std::iota(rows, rows + (end - begin), static_cast<std::int32_t>(begin));
                nearest.find(std::span(rows, static_cast<std::size_t>(end - begin)), found);
                for (std::int64_t i = begin; i < end; ++i) {
                  changed[static_cast<std::size_t>(tile)] += raw(labels)[i] != found[i - begin].center;
                  raw(labels)[i] = found[i - begin].center;
                }
              });
    return std::accumulate(changed.begin(), changed.end(), std::int64_t{0});
  }

  void squared_to_assigned(MatrixView<const T> X, MatrixView<const T> centers, VectorView<const std::int32_t> labels,
                           VectorView<double> squared) override {
    for_tiles(X.rows, kRowTile, X.size(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        raw(squared)[i] =
            squared_between(raw(X) + i * X.stride, raw(centers) + raw(labels)[i] * centers.stride, X.cols);
    });
  }

  void label_sums(MatrixView<const T> X, VectorView<const std::int32_t> labels, VectorView<const double> weights,
                  MatrixView<double> sums) override {
    const std::int64_t d = X.cols, entries = sums.rows * sums.cols;
    const auto total =
        tile_table_sums(X.rows, entries, class_tile_rows(X.rows, entries), d, [&](std::int64_t i, double* table) {
          const double weight = weights.empty() ? 1.0 : raw(weights)[i];
          double* __restrict const own = table + raw(labels)[i] * (d + 1);
          const T* const row = raw(X) + i * X.stride;
          for (std::int64_t j = 0; j < d; ++j) own[j] += weight * static_cast<double>(row[j]);
          own[d] += weight;
        });
    for (std::int64_t c = 0; c < sums.rows; ++c)
      std::copy_n(total.begin() + c * (d + 1), d + 1, raw(sums) + c * sums.stride);
  }

  void nearest_within(MatrixView<const T> X, VectorView<const std::int32_t> candidates, VectorView<const T> closest,
                      VectorView<const double> weights, MatrixView<T> least, VectorView<double> totals) override {
    const std::int64_t n = X.rows, d = X.cols, k = candidates.size;
    std::vector<T> rows;
    for (std::int64_t c = 0; c < k; ++c)
      rows.insert(rows.end(), raw(X) + raw(candidates)[c] * X.stride, raw(X) + raw(candidates)[c] * X.stride + d);
    const Centers<T> centers(MatrixView<const T>(rows.data(), k, d));
    Ranks* const ranks = ranks_of_rows(n);
    const Part own = own_rows(ranks, n);   // of `least` as well, which cumulative_search() and the next call read
    std::vector<double> tables;
    const auto sum_own = [&] {
      tables.assign(static_cast<std::size_t>(tiles_of(own.size(), kRowTile) * k), 0.0);
      for_tiles(own.size(), kRowTile, n * k * (d / 8 + 2), [&](std::int64_t tile, std::int64_t from, std::int64_t to) {
        const std::int64_t begin = own.begin + from, end = own.begin + to;
        const VectorView<const T> before = closest.empty() ? closest : closest.slice(begin, end - begin);
        keep_closer(X.row_range(begin, end - begin), centers, before,
                    MatrixView<T>(raw(least) + begin, k, end - begin, least.stride));
        for (std::int64_t i = begin; i < end; ++i)
          for (std::int64_t c = 0; c < k; ++c)
            tables[static_cast<std::size_t>(tile * k + c)] +=
                (weights.empty() ? 1.0 : raw(weights)[i]) * static_cast<double>(raw(least)[c * least.stride + i]);
      });
      return Tables{tables.data(), tiles_of(own.size(), kRowTile)};
    };
    add_tables_of_ranks(ranks, k, sum_own, raw(totals));
  }

  void cumulative_search(VectorView<const T> values, VectorView<const double> weights,
                         VectorView<const double> thresholds, VectorView<std::int32_t> found) override {
    const std::int64_t n = values.size;
    const auto share = [&](std::int64_t i) {
      return (weights.empty() ? 1.0 : raw(weights)[i]) * static_cast<double>(raw(values)[i]);
    };
    Ranks* const ranks = ranks_of_rows(n);
    const Part own = own_rows(ranks, n);
    std::vector<double> tiles(static_cast<std::size_t>(tiles_of(n, kRowTile)));
    const std::vector<double> groups = group_sums(ranks, n, tiles, [&] {
      const std::vector<double> mine =
          tile_tables(own.size(), 1, kRowTile, 1, [&](std::int64_t i, double* sum) { *sum += share(own.begin + i); });
      std::ranges::copy(mine, tiles.begin() + own.begin / kRowTile);
    });
    const auto find_own = [&] {   // the rows that are this rank's; -1: another's
      std::vector<double> places(static_cast<std::size_t>(thresholds.size), -1.0);
      for (std::int64_t e = 0; e < thresholds.size; ++e) {
        double before = 0;
        const auto pass = [&](const std::vector<double>& sums, std::size_t first, std::size_t end) {
          while (first + 1 < end && before + sums[first] < raw(thresholds)[e]) before += sums[first++];
          return first;
        };
        const std::size_t tile = pass(groups, 0, groups.size()) * kRowTile;
        const auto begin =
            static_cast<std::int64_t>(pass(tiles, tile, std::min(tiles.size(), tile + kRowTile))) * kRowTile;
        if (begin >= own.begin && begin < own.end)
          places[static_cast<std::size_t>(e)] =
              static_cast<double>(search_tile(begin, n, before, raw(thresholds)[e], share));
      }
      return places;
    };
    const std::vector<double> places = parts_of_ranks<double>(ranks, find_own);
    std::fill_n(raw(found), thresholds.size, -1);
    for (std::size_t e = 0; e < places.size(); ++e) {
      std::int32_t& place = raw(found)[e % static_cast<std::size_t>(thresholds.size)];
      place = std::max(place, static_cast<std::int32_t>(places[e]));
    }
  }

  std::unique_ptr<MovingCenters<T>> follow_centers(MatrixView<const T> X, VectorView<const double> weights,
                                                   VectorView<std::int32_t> labels) override {
    std::fill_n(raw(labels), labels.size, -1);
    return make_moving_centers(X, weights, labels);
  }
};

}   // namespace

template <class T>
std::unique_ptr<ClusterOps<T>> make_cpu_clusters() {
  return std::make_unique<CpuClusters<T>>();
}
template std::unique_ptr<ClusterOps<float>> make_cpu_clusters<float>();
template std::unique_ptr<ClusterOps<double>> make_cpu_clusters<double>();

}   // namespace kedge::engine
