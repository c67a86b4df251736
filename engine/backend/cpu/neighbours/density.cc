// DBSCAN's components on the CPU.
#include "engine/backend/cpu/neighbours/density.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kTile = 256;
constexpr std::int64_t kWalkNs = 2000;
constexpr std::int64_t kMostPairs = std::int64_t{1} << 26;   // kept between the two passes of a scan: 512 MiB

// Sets of points; a root is the lowest of its set, so that the sets found do not depend on the order of the unions.
class UnionFind {
 public:
  explicit UnionFind(VectorView<std::int32_t> parents) : parents_(parents) {
    std::iota(raw(parents), raw(parents) + parents.size, 0);
  }

  std::int32_t find(std::int32_t i) const {
    for (std::int32_t parent = load(i); parent != i; parent = load(i)) {
      const std::int32_t above = load(parent);
      if (above != parent) at(i).compare_exchange_weak(parent, above, std::memory_order_relaxed);   // halves the path
      i = above;
    }
    return i;
  }
  void unite(std::int32_t a, std::int32_t b) const {
    for (;;) {
      a = find(a), b = find(b);
      if (a == b) return;
      if (a < b) std::swap(a, b);
      std::int32_t root = a;
      if (at(a).compare_exchange_strong(root, b, std::memory_order_relaxed)) return;
    }
  }

 private:
  std::atomic_ref<std::int32_t> at(std::int32_t i) const { return std::atomic_ref<std::int32_t>(raw(parents_)[i]); }
  std::int32_t load(std::int32_t i) const { return at(i).load(std::memory_order_relaxed); }
  VectorView<std::int32_t> parents_;
};

// A point, and the lowest point or component known of its set.
struct Member {
  std::int32_t point, set;
};

// Joins the points by the pairs that join_own() finds, which are this rank's alone. Which rank has found a pair does
// not matter, since a root is the lowest of its set.
template <class Join>
void join_on_ranks(Ranks* ranks, const UnionFind& sets, std::int64_t n, const Join& join_own) {
  if (!ranks) return join_own();
  const auto own = [&] {
    join_own();
    std::vector<Member> joined;
    for (std::int32_t i = 0; i < n; ++i)
      if (const std::int32_t root = sets.find(i); root != i) joined.push_back({i, root});
    return joined;
  };
  for (const Member& member : parts_of_ranks<Member>(ranks, own)) sets.unite(member.point, member.set);
}

// Every rank gets the core points that mark_own() marks on any; it marks this rank's alone.
template <class Mark>
void find_core(Ranks* ranks, const DensityJob& job, const Mark& mark_own) {
  if (!ranks) return mark_own();
  std::fill_n(raw(job.core), job.core.size, std::uint8_t{0});
  const auto own = [&] {
    mark_own();
    std::vector<std::int32_t> found;
    for (std::int32_t i = 0; i < job.core.size; ++i)
      if (raw(job.core)[i]) found.push_back(i);
    return found;
  };
  for (const std::int32_t i : parts_of_ranks<std::int32_t>(ranks, own)) raw(job.core)[i] = 1;
}

// Every rank gets the lowest component that claim_own() finds on any for a point that is not core.
template <class Claim>
void take_lowest(Ranks* ranks, const DensityJob& job, const Claim& claim_own) {
  if (!ranks) return claim_own();
  const auto own = [&] {
    claim_own();
    std::vector<Member> found;
    for (std::int32_t i = 0; i < job.core.size; ++i)
      if (!raw(job.core)[i] && raw(job.component)[i] >= 0) found.push_back({i, raw(job.component)[i]});
    return found;
  };
  for (const Member& member : parts_of_ranks<Member>(ranks, own)) {
    std::int32_t& lowest = raw(job.component)[member.point];
    if (lowest < 0 || member.set < lowest) lowest = member.set;
  }
}

// Components of core points from their roots; the others keep -1.
void name_components(const UnionFind& sets, const DensityJob& job, std::vector<std::int32_t>& component) {
  for (std::int64_t i = 0; i < job.core.size; ++i)
    component[static_cast<std::size_t>(i)] = raw(job.core)[i] ? sets.find(static_cast<std::int32_t>(i)) : -1;
}

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
    join_on_ranks(ranks, sets, tree.n, [&] {
      each([&](std::int32_t i, const T* q) {
        if (!raw(job.core)[i]) return;
        JoinVisitor<T> visitor{job, sets, i};
        walk_join<M>(tree, q, distance.power, visitor);
      });
    });
    std::vector<std::int32_t> component(static_cast<std::size_t>(tree.n));
    name_components(sets, job, component);
    std::copy(component.begin(), component.end(), raw(job.component));
    const bool few_core =
        2 * std::count(raw(job.core), raw(job.core) + tree.n, 1) < tree.n;   // the fewer look for the others
    take_lowest(ranks, job, [&] {
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

struct Pair {
  std::int32_t a, b;   // a < b
};

// The pairs within the distance, by this rank's tiles of the upper triangle. Kept where they fit, so that a second look
// costs nothing.
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
  std::vector<std::vector<Pair>> borders(static_cast<std::size_t>(omp_get_max_threads()));
  join_on_ranks(ranks, sets, n, [&] {
    tiles.each([&](const std::vector<Pair>& pairs) {
      auto& border = borders[static_cast<std::size_t>(omp_get_thread_num())];
      for (const Pair& pair : pairs) {
        const bool a = raw(job.core)[pair.a], b = raw(job.core)[pair.b];
        if (a && b) sets.unite(pair.a, pair.b);
        else if (a || b) border.push_back(a ? Pair{pair.b, pair.a} : pair);   // the border point, the core point
      }
    });
  });
  std::vector<std::int32_t> component(static_cast<std::size_t>(n));
  name_components(sets, job, component);
  std::copy(component.begin(), component.end(), raw(job.component));
  take_lowest(ranks, job, [&] {
    for (const auto& border : borders)
      for (const Pair& pair : border) {
        std::int32_t& own = raw(job.component)[pair.a];
        const std::int32_t other = component[static_cast<std::size_t>(pair.b)];
        if (own < 0 || other < own) own = other;
      }
  });
}

template void tree_density(const KdView<float>&, MatrixView<const float>, const Distance&, const DensityJob&);
template void tree_density(const KdView<double>&, MatrixView<const double>, const Distance&, const DensityJob&);
template void scan_density(const PairScan<float>&, const DensityJob&);
template void scan_density(const PairScan<double>&, const DensityJob&);

}  // namespace kedge::engine
