// Chains of nearest neighbours: over centroids for Ward's linkage, over a matrix of distances for the others.
#include "engine/estimators/cluster/linkage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/backend/host/side_by_side.h"
#include "engine/backend/ops/ward_merges.h"
#include "engine/backend/simd.h"
#include "engine/estimators/cluster/point_lanes.h"
#include "engine/estimators/cluster/spanning_tree.h"

namespace kedge::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kShown = 1024;   // merges between two looks at the stop token

struct Nearest {
  double distance = kInfinity;
  std::int32_t cluster = std::numeric_limits<std::int32_t>::max();   // known by its lowest row
  friend auto operator<=>(const Nearest&, const Nearest&) = default;
};

// gap[i] = the squared increase of Ward's criterion, twice, by merging a cluster of `own` rows with one of sizes[i],
// from the squared distance of their centroids.
KEDGE_CLONES void weigh_gaps(const double* sizes, double own, std::int64_t n, double* gap) {
  for (std::int64_t i = 0; i < n; ++i) gap[i] *= 2 * own * sizes[i] / (own + sizes[i]);
}

// Clusters by their centroids.
class WardClusters {
 public:
  WardClusters(const std::vector<double>& rows, std::int64_t n, std::int64_t dims)
      : centroids_(rows, n, dims), sizes_(static_cast<std::size_t>(n), 1.0), cluster_(static_cast<std::size_t>(n)),
        place_(static_cast<std::size_t>(n)),
        found_(static_cast<std::size_t>((n + PointLanes::kBlock - 1) / PointLanes::kBlock)) {
    std::iota(cluster_.begin(), cluster_.end(), 0);
    std::iota(place_.begin(), place_.end(), 0);
  }

  std::int64_t size() const { return centroids_.size(); }
  std::int32_t lowest() const { return *std::min_element(cluster_.begin(), cluster_.begin() + size()); }

  // `before` wins ties, so that chains end.
  Nearest nearest(std::int32_t own, std::int32_t before) {
    const std::int64_t at = place_[static_cast<std::size_t>(own)];
    const std::vector<double> point = centroids_.point(at);
    const double own_size = sizes_[static_cast<std::size_t>(at)];
    const std::int64_t before_at = before < 0 ? -1 : place_[static_cast<std::size_t>(before)];
    double before_gap = kInfinity;
    const std::int64_t blocks = centroids_.for_blocks([&](std::int64_t begin, std::int64_t count) {
      std::array<double, PointLanes::kBlock> gap;
      centroids_.reduced({}, point.data(), begin, count, gap.data());
      weigh_gaps(sizes_.data() + begin, own_size, count, gap.data());
      if (at >= begin && at < begin + count) gap[static_cast<std::size_t>(at - begin)] = kInfinity;
      if (before_at >= begin && before_at < begin + count) before_gap = gap[static_cast<std::size_t>(before_at - begin)];
      Nearest least{least_of(gap.data(), count)};
      for (std::int64_t i = 0; i < count; ++i)
        if (gap[static_cast<std::size_t>(i)] == least.distance)
          least.cluster = std::min(least.cluster, cluster_[static_cast<std::size_t>(begin + i)]);
      found_[static_cast<std::size_t>(begin / PointLanes::kBlock)] = least;
    });
    const Nearest least = *std::min_element(found_.begin(), found_.begin() + blocks);
    return before >= 0 && before_gap <= least.distance ? Nearest{before_gap, before} : least;
  }

  // The cluster keeps the name of the lower one.
  void merge(std::int32_t a, std::int32_t b) {
    const std::int64_t to = place_[static_cast<std::size_t>(std::min(a, b))];
    const std::int64_t from = place_[static_cast<std::size_t>(std::max(a, b))];
    double& size = sizes_[static_cast<std::size_t>(to)];
    const double other = sizes_[static_cast<std::size_t>(from)], all = size + other;
    std::vector<double> centre = centroids_.point(to);
    const std::vector<double> moved = centroids_.point(from);
    for (std::size_t j = 0; j < centre.size(); ++j) centre[j] += (moved[j] - centre[j]) * (other / all);
    centroids_.set(to, centre);
    size = all;
    remove(from);
  }

  static double height(double gap) { return std::sqrt(gap); }

 private:
  void remove(std::int64_t place) {
    const auto to = static_cast<std::size_t>(place), last = static_cast<std::size_t>(size() - 1);
    centroids_.remove(place);
    sizes_[to] = sizes_[last], cluster_[to] = cluster_[last];
    place_[static_cast<std::size_t>(cluster_[to])] = place;
  }

  PointLanes centroids_;
  std::vector<double> sizes_;             // of the cluster at each place
  std::vector<std::int32_t> cluster_;     // at each place
  std::vector<std::int64_t> place_;       // of each cluster
  std::vector<Nearest> found_;            // of each block
};

// Clusters by all distances between them.
class MatrixClusters {
 public:
  MatrixClusters(const Context& ctx, const std::vector<double>& rows, std::int64_t n, std::int64_t dims,
                 const Distance& distance, bool halves, bool is_average)
      : n_(n), left_(n), is_average_(is_average), distances_(static_cast<std::size_t>(n * n)),
        sizes_(static_cast<std::size_t>(n), 1) {
    const PointLanes points(rows, n, dims);
    side_by_side(n, [&](std::int64_t i) {
      if (i % kShown == 0) ctx.check_stop();
      for (std::int64_t begin = 0; begin < n; begin += PointLanes::kBlock) {
        const std::int64_t count = std::min(n - begin, PointLanes::kBlock);
        double* const to = row(i) + begin;
        points.reduced(distance, rows.data() + i * dims, begin, count, to);
        for (std::int64_t j = 0; j < count; ++j) to[j] = halves ? to[j] / 2 : distance.restored(to[j]);
      }
      row(i)[i] = kInfinity;
    });
  }

  std::int64_t size() const { return left_; }
  std::int32_t lowest() const {
    return static_cast<std::int32_t>(std::ranges::find_if(sizes_, [](std::int64_t size) { return size > 0; }) -
                                     sizes_.begin());
  }

  Nearest nearest(std::int32_t own, std::int32_t before) const {
    const double* const distances = row(own);
    const double least = least_of(distances, n_);
    if (before >= 0 && distances[before] <= least) return {distances[before], before};
    return {least, static_cast<std::int32_t>(std::find(distances, distances + n_, least) - distances)};
  }

  void merge(std::int32_t a, std::int32_t b) {
    const std::int32_t to = std::min(a, b), from = std::max(a, b);
    double *const kept = row(to), *const gone = row(from);
    const auto of_kept = static_cast<double>(sizes_[static_cast<std::size_t>(to)]);
    const auto of_gone = static_cast<double>(sizes_[static_cast<std::size_t>(from)]);
    for (std::int64_t j = 0; j < n_; ++j) {
      if (sizes_[static_cast<std::size_t>(j)] == 0 || j == to || j == from) continue;
      kept[j] = is_average_ ? (of_kept * kept[j] + of_gone * gone[j]) / (of_kept + of_gone)
                            : std::max(kept[j], gone[j]);
      row(j)[to] = kept[j], row(j)[from] = kInfinity;
    }
    kept[from] = kInfinity;
    sizes_[static_cast<std::size_t>(to)] += std::exchange(sizes_[static_cast<std::size_t>(from)], 0);
    --left_;
  }

  static double height(double distance) { return distance; }

 private:
  double* row(std::int64_t i) { return distances_.data() + i * n_; }
  const double* row(std::int64_t i) const { return distances_.data() + i * n_; }

  std::int64_t n_, left_;
  bool is_average_;
  std::vector<double> distances_;     // n x n, infinite where a cluster is gone
  std::vector<std::int64_t> sizes_;   // 0: gone
};

// A chain goes from each cluster to its nearest one; where two are each other's nearest, they are merged.
template <class Clusters>
std::vector<Merge> chain_merges(const Context& ctx, Clusters& clusters) {
  std::vector<Merge> merges;
  std::vector<std::int32_t> chain;
  const std::int64_t n = clusters.size();
  while (clusters.size() > 1) {
    if (merges.size() % kShown == 0) {
      ctx.check_stop();
      ctx.progress("merging clusters", static_cast<std::int64_t>(merges.size()), n - 1, "merges");
    }
    if (chain.empty()) chain.push_back(clusters.lowest());
    for (;;) {
      const std::int32_t last = chain.back(), before = chain.size() > 1 ? chain[chain.size() - 2] : -1;
      const Nearest nearest = clusters.nearest(last, before);
      if (nearest.cluster == before) {
        merges.push_back({std::min(last, before), std::max(last, before), Clusters::height(nearest.distance)});
        clusters.merge(last, before);
        chain.resize(chain.size() - 2);
        break;
      }
      chain.push_back(nearest.cluster);
    }
  }
  return merges;
}

std::vector<Merge> single_merges(const Context& ctx, const std::vector<double>& rows, std::int64_t n, std::int64_t dims,
                                 const Distance& distance, bool halves) {
  std::vector<Merge> merges;
  std::int32_t newest = 0;   // joins the same clusters as the row at the other end of the edge
  for (const TreeEdge& edge : spanning_tree(ctx, rows, n, dims, distance, {})) {
    merges.push_back({newest, edge.b, halves ? edge.length / 2 : distance.restored(edge.length)});
    newest = edge.b;
  }
  return merges;
}

// Nothing where the device has no such operation, or where equal distances leave a choice that the chain makes.
std::optional<std::vector<Merge>> ward_of_device(const Context& ctx, const std::vector<double>& rows, std::int64_t n,
                                                 std::int64_t dims) {
  WardOps* const ops = ward_ops(*ctx.ops<double>().distances);
  if (!ops) return std::nullopt;
  const Matrix<double> points(ctx.memory(), n, dims, rows);
  const auto found = ops->ward_merges(points.view(), [&](std::int64_t merges) {
    ctx.check_stop();
    ctx.progress("merging clusters", merges, n - 1, "merges");
  });
  if (!found) return std::nullopt;
  std::vector<Merge> merges;
  merges.reserve(found->size());
  for (const WardMerge& one : *found) merges.push_back({one.a, one.b, WardClusters::height(one.gap)});
  std::ranges::sort(merges, {}, &Merge::height);
  if (std::ranges::adjacent_find(merges, {}, &Merge::height) != merges.end()) return std::nullopt;
  return merges;
}

}   // namespace

std::vector<Merge> linkage_merges(const Context& ctx, Linkage linkage, const std::vector<double>& rows, std::int64_t n,
                                  std::int64_t dims, const Distance& distance, bool halves) {
  std::vector<Merge> merges;
  if (linkage == Linkage::kSingle) {
    merges = single_merges(ctx, rows, n, dims, distance, halves);
  } else if (linkage == Linkage::kWard) {
    if (auto found = ward_of_device(ctx, rows, n, dims)) return *std::move(found);
    WardClusters clusters(rows, n, dims);
    merges = chain_merges(ctx, clusters);
  } else {
    MatrixClusters clusters(ctx, rows, n, dims, distance, halves, linkage == Linkage::kAverage);
    merges = chain_merges(ctx, clusters);
  }
  std::ranges::stable_sort(merges, {}, &Merge::height);
  return merges;
}

}   // namespace kedge::engine
