// MeanShift: every seed climbs by itself, over all rows.
#include "engine/estimators/cluster/mean_shift.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/cluster/cluster_centers.h"
#include "engine/estimators/cluster/point_lanes.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = MeanShiftParams;
constexpr const char* kName = "MeanShift";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("bandwidth", &P::bandwidth, above(0),
               "Radius of a mean; null takes the mean distance to the neighbour with 0.3 of the rows before it.")
          .any("seeds", &P::seeds, {array_form({array_form()}), null_form()},
               "Where means start, a row each; null starts at the rows, or at their bins.")
          .add("bin_seeding", &P::bin_seeding, "Whether means start at the bins of a grid that hold rows.")
          .add("min_bin_freq", &P::min_bin_freq, at_least(1), "Rows of a bin that is a seed.")
          .add("cluster_all", &P::cluster_all, "Whether a row farther than the bandwidth from all centres has a cluster.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .add("max_iter", &P::max_iter, at_least(0), "Steps of a mean.");
  return set;
}

// body(row, places) for each row, side by side; places: distances to all points, squared.
template <class Body>
void with_distances(const Context& ctx, const PointLanes& points, const std::vector<double>& from, const Body& body) {
  const std::int64_t n = points.size(), dims = points.dims();
  side_by_side(static_cast<std::int64_t>(from.size()) / dims, [&](std::int64_t i) {
    ctx.check_stop();
    std::vector<double> squared(static_cast<std::size_t>(n));
    for (std::int64_t begin = 0; begin < n; begin += PointLanes::kBlock)
      points.reduced({}, from.data() + i * dims, begin, std::min(n - begin, PointLanes::kBlock), squared.data() + begin);
    body(i, squared);
  });
}

// scikit-learn's estimate_bandwidth() with a quantile of 0.3.
double estimated_bandwidth(const Context& ctx, const PointLanes& points, const std::vector<double>& rows) {
  const auto nth = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(points.size()) * 0.3)) - 1;
  std::vector<double> reach(static_cast<std::size_t>(points.size()));
  with_distances(ctx, points, rows, [&](std::int64_t i, std::vector<double>& squared) {
    std::nth_element(squared.begin(), squared.begin() + nth, squared.end());
    reach[static_cast<std::size_t>(i)] = std::sqrt(squared[static_cast<std::size_t>(nth)]);
  });
  return std::accumulate(reach.begin(), reach.end(), 0.0) / static_cast<double>(reach.size());
}

struct Mean {
  std::int64_t n_within = 0;
  std::vector<double> center;
  std::int64_t n_steps = 0;
  friend auto operator<=>(const Mean& a, const Mean& b) {
    return std::pair(a.n_within, a.center) <=> std::pair(b.n_within, b.center);
  }
};

// The mean of the points within the bandwidth of `center`; empty where there are none.
std::pair<std::vector<double>, std::int64_t> mean_within(const PointLanes& points, const std::vector<double>& rows,
                                                         const std::vector<double>& center, double bandwidth) {
  const std::size_t dims = center.size();
  std::vector<double> sum(dims, 0.0);
  std::array<double, PointLanes::kBlock> squared;
  std::int64_t count = 0;
  for (std::int64_t begin = 0; begin < points.size(); begin += PointLanes::kBlock) {
    const std::int64_t n = std::min(points.size() - begin, PointLanes::kBlock);
    points.reduced({}, center.data(), begin, n, squared.data());
    for (std::int64_t i = 0; i < n; ++i) {
      if (squared[static_cast<std::size_t>(i)] > bandwidth * bandwidth) continue;
      const double* const row = rows.data() + static_cast<std::size_t>(begin + i) * dims;
      ++count;
      for (std::size_t j = 0; j < dims; ++j) sum[j] += row[j];
    }
  }
  for (double& x : sum) x /= static_cast<double>(count);
  return {std::move(sum), count};
}

Mean climb(const PointLanes& points, const std::vector<double>& rows, std::vector<double> seed, double bandwidth,
           std::int64_t max_iter) {
  constexpr double kStill = 1e-3;   // of the bandwidth
  Mean mean{.center = std::move(seed)};
  for (;;) {
    auto [next, count] = mean_within(points, rows, mean.center, bandwidth);
    mean.n_within = count;
    if (count == 0) return mean;
    double moved = 0;
    for (std::size_t j = 0; j < next.size(); ++j) moved += (next[j] - mean.center[j]) * (next[j] - mean.center[j]);
    mean.center = std::move(next);
    if (std::sqrt(moved) <= kStill * bandwidth || mean.n_steps == max_iter) return mean;
    ++mean.n_steps;
  }
}

// Means in falling order, without those within the bandwidth of one before them; row-major.
std::vector<double> distinct_centers(std::vector<Mean> means, double bandwidth) {
  std::ranges::sort(means, std::greater<>{});
  const auto last = std::ranges::unique(means, {}, &Mean::center);
  means.erase(last.begin(), last.end());
  std::vector<double> centers;
  for (const Mean& mean : means) {
    const std::size_t dims = mean.center.size();
    bool is_near = mean.n_within == 0;
    for (std::size_t c = 0; c < centers.size() && !is_near; c += dims) {
      double squared = 0;
      for (std::size_t j = 0; j < dims; ++j) squared += (centers[c + j] - mean.center[j]) * (centers[c + j] - mean.center[j]);
      is_near = squared <= bandwidth * bandwidth;
    }
    if (!is_near) centers.insert(centers.end(), mean.center.begin(), mean.center.end());
  }
  return centers;
}

// The bins of a grid that hold enough rows, in float32 as scikit-learn has them.
std::vector<double> bin_seeds(const Context& ctx, const std::vector<double>& rows, std::size_t dims, double bandwidth,
                              std::int64_t least) {
  std::map<std::vector<double>, std::int64_t> bins;
  for (std::size_t i = 0; i < rows.size(); i += dims) {
    std::vector<double> bin(dims);
    for (std::size_t j = 0; j < dims; ++j) bin[j] = std::nearbyint(rows[i + j] / bandwidth);
    ++bins[std::move(bin)];
  }
  std::vector<double> seeds;
  for (const auto& [bin, count] : bins)
    for (std::size_t j = 0; count >= least && j < dims; ++j)
      seeds.push_back(static_cast<float>(static_cast<float>(bin[j]) * static_cast<float>(bandwidth)));
  if (seeds.size() != rows.size()) return seeds;
  ctx.warn(fmt::format("{}: each row has a bin of its own at a bandwidth of {:.6g}; the rows are the seeds", kName, bandwidth));
  return rows;
}

}   // namespace

template <class T>
MeanShift<T>::MeanShift(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  if (!params_.seeds.is_null() && !rows_of(params_.seeds))
    refuse_param(kName, "seeds", params_.seeds, "must be a list of rows of equal length");
}

template <class T>
schema::EstimatorInfo MeanShift<T>::info() {
  return {.name = kName,
          .kind = "clusterer",
          .family = "cluster",
          .doc = "Clusters around the places where the rows are densest.",
          .params = param_set().infos(),
          .attributes = {"cluster_centers_", "labels_", "n_iter_"},
          .deviations = {"A row that is equally near to two centres goes to the first."}};
}

template <class T>
MemoryNeed MeanShift<T>::memory(const SampleShape& X, const schema::Step&) {
  constexpr std::int64_t kThreads = 64;   // that hold the distances of a row at most
  return {.work = X.copy() + 6 * memory::doubles(X) + X.rows * (kThreads + 16) * memory::kDouble,
          .minimum = X.copy() + memory::doubles(X)};
}

template <class T>
std::vector<double> MeanShift<T>::seeds_for(const Context& ctx, const std::vector<double>& rows, double bandwidth) const {
  if (const auto given = rows_of(params_.seeds)) {
    require(static_cast<std::int64_t>(given->front().size()) == n_features_, schema::ErrorCode::kBadData,
            "{}: seeds have {} columns, the data {}", kName, given->front().size(), n_features_);
    std::vector<double> seeds;
    for (const std::vector<double>& row : *given) seeds.insert(seeds.end(), row.begin(), row.end());
    return seeds;
  }
  if (!params_.bin_seeding || bandwidth == 0) return rows;
  return bin_seeds(ctx, rows, static_cast<std::size_t>(n_features_), bandwidth, params_.min_bin_freq);
}

template <class T>
void MeanShift<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X);
  ctx.check_stop();
  n_features_ = X.n_cols();
  const std::vector<double> rows = host_values(ctx, X);
  const PointLanes points(rows, X.n_rows(), n_features_);
  const double bandwidth = params_.bandwidth ? *params_.bandwidth : estimated_bandwidth(ctx, points, rows);
  const std::vector<double> seeds = seeds_for(ctx, rows, bandwidth);
  std::vector<Mean> means(seeds.size() / static_cast<std::size_t>(n_features_));
  side_by_side(static_cast<std::int64_t>(means.size()), [&](std::int64_t i) {
    ctx.check_stop();
    const auto seed = seeds.begin() + i * n_features_;
    means[static_cast<std::size_t>(i)] = climb(points, rows, {seed, seed + n_features_}, bandwidth, params_.max_iter);
  });
  n_iter_ = 0;
  for (const Mean& mean : means) n_iter_ = std::max(n_iter_, mean.n_steps);
  const std::vector<double> centers = distinct_centers(std::move(means), bandwidth);
  require(!centers.empty(), schema::ErrorCode::kBadData,
          "{}: no row is within a bandwidth of {:.6g} of any seed; choose other seeds or a larger bandwidth", kName, bandwidth);
  centers_.assign(centers.begin(), centers.end());
  labels_ = nearest_centers(ctx, X, centers_);
  if (params_.cluster_all) return;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    const double* const center = centers.data() + static_cast<std::size_t>(labels_[i] * n_features_);
    double squared = 0;
    for (std::int64_t j = 0; j < n_features_; ++j) {
      const double gap = rows[i * static_cast<std::size_t>(n_features_) + static_cast<std::size_t>(j)] - center[j];
      squared += gap * gap;
    }
    if (std::sqrt(squared) > bandwidth) labels_[i] = -1;
  }
}

template <class T>
std::vector<std::int32_t> MeanShift<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  return nearest_centers(ctx, X, centers_);
}

template <class T>
schema::ValueMap MeanShift<T>::attributes() const {
  return {{"cluster_centers_", rows_value({centers_.begin(), centers_.end()}, n_features_)},
          {"labels_", std::vector<double>(labels_.begin(), labels_.end())},
          {"n_iter_", n_iter_}};
}

template <class T>
void MeanShift<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  auto n_clusters = static_cast<std::int64_t>(centers_.size()) / std::max<std::int64_t>(1, n_features_);
  archive.number("n_clusters", n_clusters, 1, kMaxSize);
  archive.field("centers", centers_, n_clusters, n_features_);
  archive.expect_finite("centers", centers_);
  archive.indices("labels", labels_, kAnySize, -1, n_clusters - 1);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
}

template class MeanShift<float>;
template class MeanShift<double>;

}   // namespace kedge::engine
