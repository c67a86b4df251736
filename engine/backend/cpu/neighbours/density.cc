// DBSCAN's components on the CPU.
#include "engine/backend/cpu/neighbours/density.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/neighbours/density_sets.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kTile = 256;
constexpr std::int64_t kWalkNs = 2000;
constexpr std::int64_t kMostPairs = std::int64_t{1} << 26;   // kept between the two passes of a scan: 512 MiB

template <Metric M, class T>
KEDGE_CLONES bool walk_is_core(const KdView<T>& tree, const T* q, double power, const DensityJob& job) {
  if (job.weights.empty()) {
    CountVisitor visitor{job.limit, tree.n, static_cast<std::int64_t>(std::ceil(std::max(job.least, 0.0)))};
    kd_walk<M>(tree, q, power, visitor);
    return static_cast<double>(visitor.count) >= job.least;
  }
  double weight = 0;
  EachVisitor visitor{job.limit, [&](std::int32_t j, double) { weight += raw(job.weights)[j]; }};
  kd_walk<M>(tree, q, power, visitor);
  return weight >= job.least;
}

// Joins a core point with the core points of lower index; each pair is met from its other end too.
template <class T>
struct JoinVisitor {
  static constexpr bool kAsksForWhole = false;
  const DensityJob& job;
  const UnionFind& sets;
  std::int32_t self;

  double limit() const { return job.limit; }
  void leaf(const std::int32_t* order, const double (&reduced)[kKdLeaf]) {
    for (int l = 0; l < kKdLeaf; ++l)
      if (reduced[l] <= job.limit && order[l] >= 0 && order[l] < self && raw(job.core)[order[l]])
        sets.unite(self, order[l]);
  }
};

template <Metric M, class T>
KEDGE_CLONES void walk_join(const KdView<T>& tree, const T* q, double power, JoinVisitor<T>& visitor) {
  kd_walk<M>(tree, q, power, visitor);
}

// The lowest component among the core points within the distance of a point, -1 without any.
template <Metric M, class T>
KEDGE_CLONES std::int32_t walk_border(const KdView<T>& tree, const T* q, double power, const DensityJob& job, const std::int32_t* component) {
  std::int32_t lowest = -1;
  EachVisitor visitor{job.limit, [&](std::int32_t j, double) {
                        if (raw(job.core)[j] && (lowest < 0 || component[j] < lowest)) lowest = component[j];
                      }};
  kd_walk<M>(tree, q, power, visitor);
  return lowest;
}

// The same from the other end: what is not core within the distance of a core point gets its component, if that is the lowest so far.
template <Metric M, class T>
KEDGE_CLONES void walk_claim(const KdView<T>& tree, const T* q, double power, const DensityJob& job, std::int32_t component) {
  EachVisitor visitor{job.limit, [&](std::int32_t j, double) {
                        if (raw(job.core)[j]) return;
                        const std::atomic_ref<std::int32_t> claimed(raw(job.component)[j]);
                        std::int32_t seen = claimed.load(std::memory_order_relaxed);
                        while ((seen < 0 || component < seen) &&
                               !claimed.compare_exchange_weak(seen, component, std::memory_order_relaxed)) {
                        }
                      }};
  kd_walk<M>(tree, q, power, visitor);
}

}  // namespace

template <class T>
void tree_density(const KdView<T>& tree, MatrixView<const T> points, const Distance& distance, const DensityJob& job) {
  Ranks* const ranks = ranks_of_rows(tree.n);
  const Part own = own_rows(ranks, tree.n);
  with_metric(distance.metric, [&]<Metric M>() {
    // In the order of the tree: neighbours in space follow one another and find their nodes in the caches.
    const auto each = [&](auto&& body) {
      for_tiles(own.size(), kTile, own.size() * kWalkNs, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = own.begin + begin; p < own.begin + end; ++p)
          body(tree.order[p], raw(points) + std::int64_t{tree.order[p]} * points.stride);
      });
    };
    find_core(ranks, job, [&] {
      each([&](std::int32_t i, const T* q) { raw(job.core)[i] = walk_is_core<M>(tree, q, distance.power, job); });
    });
    const UnionFind sets(job.component);
    join_core(ranks, sets, job, [&] {
      each([&](std::int32_t i, const T* q) {
        if (!raw(job.core)[i]) return;
        JoinVisitor<T> visitor{job, sets, i};
        walk_join<M>(tree, q, distance.power, visitor);
      });
    });
    const bool few_core =
        2 * std::count(raw(job.core), raw(job.core) + tree.n, 1) < tree.n;   // the fewer look for the others
    name_points(ranks, sets, job, [&](const std::vector<std::int32_t>& component) {
      each([&](std::int32_t i, const T* q) {
        if (few_core && raw(job.core)[i])
          walk_claim<M>(tree, q, distance.power, job, component[static_cast<std::size_t>(i)]);
        if (!few_core && !raw(job.core)[i])
          raw(job.component)[i] = walk_border<M>(tree, q, distance.power, job, component.data());
      });
    });
  });
}

namespace {

// The pairs within the distance, a < b, by this rank's tiles of the upper triangle. Kept where they fit, so that a
// second look costs nothing.
template <class T>
class PairTiles {
 public:
  PairTiles(const PairScan<T>& scan, double limit, const Ranks* ranks)
      : scan_(scan),
        limit_(limit),
        side_(tiles_of(scan.points().rows, kSide)),
        own_(own_part(ranks, side_ * (side_ + 1) / 2)),
        kept_(static_cast<std::size_t>(own_.size())) {
    for (std::int64_t left = 0, tile = 0; left < side_; ++left)
      for (std::int64_t right = left; right < side_; ++right, ++tile)
        if (tile >= own_.begin && tile < own_.end) tiles_.push_back({left, right});
  }

  // body(pairs) for each tile, on all threads.
  template <class Body>
  void each(Body&& body) {
    const std::int64_t cost = own_.size() * kSide * kSide * scan_.points().cols / 8;
    for_tiles(own_.size(), 1, cost, [&](std::int64_t tile, std::int64_t, std::int64_t) {
      if (looked_ && !is_full_.load()) return body(kept_[static_cast<std::size_t>(tile)]);
      std::vector<Pair> pairs = find(tiles_[static_cast<std::size_t>(tile)]);
      body(pairs);
      if (looked_ || (n_kept_ += static_cast<std::int64_t>(pairs.size())) > kMostPairs) is_full_ = true;
      if (!is_full_) kept_[static_cast<std::size_t>(tile)] = std::move(pairs);
    });
    looked_ = true;
    if (is_full_) kept_.clear();
  }

 private:
  struct Tile {
    std::int64_t left, right;   // sides
  };

  std::vector<Pair> find(const Tile& tile) const {
    const std::int64_t n = scan_.points().rows, a = tile.left * kSide, b = tile.right * kSide;
    const auto queries = scan_.own(a, std::min(kSide, n - a));
    std::vector<typename PairScan<T>::Hit> hits;
    for (std::int64_t first = b; first < std::min(n, b + kSide); first += kStep)
      scan_.find(queries, first, std::min({kStep, n - first, b + kSide - first}), limit_, false, hits);
    std::vector<Pair> pairs;
    for (const auto& hit : hits)
      if (a + hit.query < hit.point) pairs.push_back({static_cast<std::int32_t>(a) + hit.query, hit.point});
    return pairs;
  }

  static constexpr std::int64_t kSide = 1024, kStep = 256;
  const PairScan<T>& scan_;
  double limit_;
  std::int64_t side_;
  Part own_;   // of the tiles of the triangle
  std::vector<Tile> tiles_;
  std::vector<std::vector<Pair>> kept_;
  std::atomic<std::int64_t> n_kept_ = 0;
  std::atomic<bool> is_full_ = false;
  bool looked_ = false;
};

// Core points by the number of their pairs, which ranks add.
template <class T>
void count_rows(Ranks* ranks, PairTiles<T>& tiles, const DensityJob& job) {
  const auto n = static_cast<std::size_t>(job.core.size);
  std::vector<std::int32_t> counts(n, 0);
  const auto count = [&](std::int32_t i) {
    std::atomic_ref<std::int32_t>(counts[static_cast<std::size_t>(i)]).fetch_add(1, std::memory_order_relaxed);
  };
  const auto count_own = [&] {
    tiles.each([&](const std::vector<Pair>& pairs) {
      for (const Pair& pair : pairs) count(pair.a), count(pair.b);
    });
  };
  std::vector<std::int64_t> total;
  if (ranks) {
    ranks->share([&]() -> std::vector<std::byte> {
      count_own();
      total.assign(counts.begin(), counts.end());
      return {};
    });
    ranks->combine(total, IntegerOp::kSum);
    std::copy(total.begin(), total.end(), counts.begin());
  } else {
    count_own();
  }
  constexpr std::int32_t kItself = 1;
  for (std::size_t i = 0; i < n; ++i) raw(job.core)[i] = static_cast<double>(counts[i] + kItself) >= job.least;
}

// Weights are added row by row, in order: a sum of doubles must not depend on which thread comes first.
template <class T>
void weigh_rows(const PairScan<T>& scan, const DensityJob& job, Part own) {
  const std::int64_t n = scan.points().rows;
  for_tiles(own.size(), kTile, own.size() * scan.points().size() / 8,
            [&](std::int64_t, std::int64_t begin, std::int64_t end) {
              begin += own.begin, end += own.begin;
              const auto queries = scan.own(begin, end - begin);
              std::vector<double> weight(static_cast<std::size_t>(end - begin), 0.0);
              std::vector<typename PairScan<T>::Hit> hits;
              for (std::int64_t first = 0; first < n; first += kTile, hits.clear()) {
                scan.find(queries, first, std::min(kTile, n - first), job.limit, false, hits);
                for (const auto& hit : hits) weight[static_cast<std::size_t>(hit.query)] += raw(job.weights)[hit.point];
              }
              for (std::int64_t i = begin; i < end; ++i)
                raw(job.core)[i] = weight[static_cast<std::size_t>(i - begin)] >= job.least;
            });
}

}  // namespace

template <class T>
void scan_density(const PairScan<T>& scan, const DensityJob& job) {
  const std::int64_t n = scan.points().rows;
  Ranks* const ranks = ranks_of_rows(n);
  PairTiles<T> tiles(scan, job.limit, ranks);
  if (job.weights.empty()) count_rows(ranks, tiles, job);
  else find_core(ranks, job, [&] { weigh_rows(scan, job, own_rows(ranks, n)); });
  const UnionFind sets(job.component);
  PairJoin found(sets, job);
  join_core(ranks, sets, job, [&] { tiles.each([&](const std::vector<Pair>& pairs) { found.join(pairs); }); });
  name_points(ranks, sets, job, [&](const std::vector<std::int32_t>& component) { found.claim(component); });
}

template void tree_density(const KdView<float>&, MatrixView<const float>, const Distance&, const DensityJob&);
template void tree_density(const KdView<double>&, MatrixView<const double>, const Distance&, const DensityJob&);
template void scan_density(const PairScan<float>&, const DensityJob&);
template void scan_density(const PairScan<double>&, const DensityJob&);

}  // namespace kedge::engine
