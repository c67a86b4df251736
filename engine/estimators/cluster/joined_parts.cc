// Rounds of Boruvka's algorithm. Rows are named by their places in the leaves of the tree, so that those of a leaf are
// asked one after the other.
#include "engine/estimators/cluster/joined_parts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/backend/host/kd_tree.h"
#include "engine/backend/host/side_by_side.h"
#include "engine/backend/kd_search.h"
#include "engine/backend/simd.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t kNone = -1;

// The least edge that is known of a place to another part. Without `to`, no edge of the place is shorter than `length`.
struct Nearest {
  double length = -kInfinity, between = -kInfinity;
  std::int32_t to = kNone;
};

// What a walk reads: the tree, and by place and node the part (of a node: kNone if it has several) and the least reach.
struct Parts {
  KdView<double> tree;
  const double *reach, *node_reach;
  const std::int32_t *part, *node_part;

  // Whether the edge of place p is less than that of place q, which may have none.
  bool is_less(std::int32_t p, const Nearest& edge, std::int32_t q, const Nearest& other) const {
    if (other.to == kNone || edge.length != other.length) return other.to == kNone || edge.length < other.length;
    if (edge.between != other.between) return edge.between < other.between;
    return std::minmax(tree.order[p], tree.order[edge.to]) < std::minmax(tree.order[q], tree.order[other.to]);
  }
};

// Finds the least edge from a place to another part, unless it is longer than the limit, which other threads may lower.
template <Metric M>
class Walk {
 public:
  Walk(const Parts& parts, std::int32_t place, double power, const std::atomic<double>& limit)
      : parts_(parts),
        place_(place),
        power_(power),
        own_reach_(parts.reach[place]),
        own_part_(parts.part[place]),
        limit_(limit) {
    const double* const block = parts.tree.blocks + place / kKdLeaf * parts.tree.d * kKdLeaf + place % kKdLeaf;
    for (std::int64_t j = 0; j < parts.tree.d; ++j) point_[static_cast<std::size_t>(j)] = block[j * kKdLeaf];
  }

  KEDGE_HD_INLINE Nearest found() {
    std::array<KdNode, kKdDepth> stack;
    KdNode node{0, 0, parts_.tree.leaves, least_distance<M>(parts_.tree, 0, point_.data(), power_)};
    for (std::size_t top = 0;; node = stack[--top]) {
      while (may_have_less(node)) {
        if (node.count == 1) {
          take_leaf(node.first);
          break;
        }
        const std::int32_t half = node.count / 2;
        KdNode near{node.id + 1, node.first, half, least_distance<M>(parts_.tree, node.id + 1, point_.data(), power_)};
        KdNode far{node.id + 2 * half, node.first + half, node.count - half,
                   least_distance<M>(parts_.tree, node.id + 2 * half, point_.data(), power_)};
        if (far.least < near.least) std::swap(near, far);
        stack[top++] = far, node = near;
      }
      if (top == 0) return best_;
    }
  }

 private:
  double longest() const { return std::min(best_.length, limit_.load(std::memory_order_relaxed)); }

  bool may_have_less(const KdNode& node) const {
    if (parts_.node_part[node.id] == own_part_) return false;
    const double length = std::max({node.least, own_reach_, parts_.node_reach[node.id]});
    return length <= longest() && !(length == best_.length && node.least > best_.between);
  }

  KEDGE_HD_INLINE void take_leaf(std::int32_t leaf) {
    double between[kKdLeaf], length[kKdLeaf];
    leaf_distances<M>(parts_.tree, leaf, point_.data(), power_, between);
    const std::int64_t first = static_cast<std::int64_t>(leaf) * kKdLeaf;
    const double* const reach = parts_.reach + first;
    const double longest_now = longest();
    unsigned near = 0;
    for (int l = 0; l < kKdLeaf; ++l) length[l] = larger(larger(between[l], own_reach_), reach[l]);
    for (int l = 0; l < kKdLeaf; ++l) near |= static_cast<unsigned>(length[l] <= longest_now) << l;
    for (int l = 0; near != 0; ++l, near >>= 1) {
      if ((near & 1) == 0 || first + l >= parts_.tree.n || parts_.part[first + l] == own_part_) continue;
      const Nearest edge{length[l], between[l], static_cast<std::int32_t>(first + l)};
      if (parts_.is_less(place_, edge, place_, best_)) best_ = edge;
    }
  }

  const Parts& parts_;
  std::int32_t place_;
  double power_, own_reach_;
  std::int32_t own_part_;
  const std::atomic<double>& limit_;
  std::array<double, kKdColumns> point_;
  Nearest best_{.length = kInfinity, .between = kInfinity};
};

template <Metric M>
KEDGE_CLONES Nearest walked(const Parts& parts, std::int32_t place, double power, const std::atomic<double>& limit) {
  return Walk<M>(parts, place, power, limit).found();
}

void lower(std::atomic<double>& limit, double length) {
  double before = limit.load(std::memory_order_relaxed);
  while (length < before && !limit.compare_exchange_weak(before, length, std::memory_order_relaxed)) {
  }
}

class Joining {
 public:
  Joining(const std::vector<double>& rows, std::int64_t n, std::int64_t dims, const Distance& distance,
          std::span<const double> reach)
      : distance_(distance),
        n_(static_cast<std::size_t>(n)),
        tree_(MatrixView<const double>(rows.data(), n, dims)),
        reach_(tree_.order.size(), kInfinity),
        part_(n_),
        size_(n_, 1),
        nearest_(n_),
        limit_(n_),
        node_reach_(2 * static_cast<std::size_t>(tree_.leaves) - 1),
        node_part_(node_reach_.size()) {
    for (std::size_t p = 0; p < n_; ++p)
      reach_[p] = reach.empty() ? 0.0 : reach[static_cast<std::size_t>(tree_.order[p])];
    std::iota(part_.begin(), part_.end(), 0);
    edges_.reserve(n_ - 1);
  }

  std::size_t missing() const { return n_ - 1 - edges_.size(); }
  std::vector<SpanningEdge> take_edges() { return std::move(edges_); }

  // Joins every part but the largest to another.
  void join() {
    const auto largest =
        static_cast<std::int32_t>(std::ranges::max_element(size_) - size_.begin());   // by root; others have 0
    const Parts parts = described();
    find_nearest(parts, largest);
    std::vector<std::int32_t> least(n_, kNone);   // by root: the place whose edge the part takes
    for (std::size_t p = 0; p < n_; ++p) {
      const std::int32_t part = part_[p];
      if (part == largest || !is_known(p)) continue;
      std::int32_t& best = least[static_cast<std::size_t>(part)];
      const auto place = static_cast<std::int32_t>(p);
      if (best == kNone || parts.is_less(place, nearest_[p], best, nearest_[static_cast<std::size_t>(best)]))
        best = place;
    }
    for (std::size_t part = 0; part < n_; ++part)
      if (least[part] != kNone) take_edge(least[part]);
    for (std::size_t p = 0; p < n_; ++p) part_[p] = root(static_cast<std::int32_t>(p));
  }

 private:
  // Whether the nearest row of another part is.
  bool is_known(std::size_t p) const {
    return nearest_[p].to != kNone && part_[static_cast<std::size_t>(nearest_[p].to)] != part_[p];
  }

  Parts described() {
    describe_node(0, 0, tree_.leaves);
    return {tree_.view(), reach_.data(), node_reach_.data(), part_.data(), node_part_.data()};
  }

  // Asks the rows of all parts but `idle` that may have the least edge of theirs.
  void find_nearest(const Parts& parts, std::int32_t idle) {
    constexpr std::int64_t kTogether = 16 * kKdLeaf;
    for (std::atomic<double>& limit : limit_) limit.store(kInfinity, std::memory_order_relaxed);
    for (std::size_t p = 0; p < n_; ++p)
      if (is_known(p)) lower(limit_[static_cast<std::size_t>(part_[p])], nearest_[p].length);
    const auto n = static_cast<std::int64_t>(n_);
    with_metric(distance_.metric, [&]<Metric M>() {
      side_by_side((n + kTogether - 1) / kTogether, [&](std::int64_t piece) {
        check_job_stop();
        const std::int64_t end = std::min(n, (piece + 1) * kTogether);
        for (auto p = static_cast<std::size_t>(piece * kTogether); p < static_cast<std::size_t>(end); ++p)
          if (part_[p] != idle && !is_known(p)) ask<M>(parts, p);
      });
    });
  }

  template <Metric M>
  void ask(const Parts& parts, std::size_t p) {
    std::atomic<double>& limit = limit_[static_cast<std::size_t>(part_[p])];
    if (nearest_[p].length > limit.load(std::memory_order_relaxed)) return;
    Nearest found = walked<M>(parts, static_cast<std::int32_t>(p), distance_.power, limit);
    const double most = limit.load(std::memory_order_relaxed);
    if (found.to == kNone || found.length > most) found = {.length = most};   // no edge of the place is shorter
    else lower(limit, found.length);
    nearest_[p] = found;
  }

  void take_edge(std::int32_t from) {
    const Nearest& nearest = nearest_[static_cast<std::size_t>(from)];
    std::int32_t a = root(from), b = root(nearest.to);
    if (a == b) return;   // the other part has taken the same edge
    if (size_[static_cast<std::size_t>(a)] < size_[static_cast<std::size_t>(b)]) std::swap(a, b);
    part_[static_cast<std::size_t>(b)] = a;
    size_[static_cast<std::size_t>(a)] += std::exchange(size_[static_cast<std::size_t>(b)], 0);
    const std::int32_t one = tree_.order[static_cast<std::size_t>(from)],
                       other = tree_.order[static_cast<std::size_t>(nearest.to)];
    edges_.push_back({std::min(one, other), std::max(one, other), nearest.length, nearest.between});
  }

  std::int32_t root(std::int32_t place) {
    std::int32_t top = place;
    while (part_[static_cast<std::size_t>(top)] != top) top = part_[static_cast<std::size_t>(top)];
    while (part_[static_cast<std::size_t>(place)] != top)
      place = std::exchange(part_[static_cast<std::size_t>(place)], top);
    return top;
  }

  // The part and the least reach of the rows below a node.
  std::pair<std::int32_t, double> describe_node(std::int32_t id, std::int32_t first, std::int32_t count) {
    std::int32_t part = kNone;
    double reach = kInfinity;
    if (count == 1) {
      const auto begin = static_cast<std::size_t>(first) * kKdLeaf, end = std::min(n_, begin + kKdLeaf);
      part = part_[begin];
      for (std::size_t p = begin; p < end; ++p) {
        reach = std::min(reach, reach_[p]);
        if (part_[p] != part) part = kNone;
      }
    } else {
      const std::int32_t half = count / 2;
      const auto left = describe_node(id + 1, first, half);
      const auto right = describe_node(id + 2 * half, first + half, count - half);
      part = left.first == right.first ? left.first : kNone, reach = std::min(left.second, right.second);
    }
    node_part_[static_cast<std::size_t>(id)] = part, node_reach_[static_cast<std::size_t>(id)] = reach;
    return {part, reach};
  }

  Distance distance_;
  std::size_t n_;
  KdTree<double> tree_;
  std::vector<double> reach_;        // by place, as all below
  std::vector<std::int32_t> part_;   // the place that names the part
  std::vector<std::int32_t> size_;   // of the part that the place names, otherwise 0
  std::vector<Nearest> nearest_;
  std::vector<std::atomic<double>> limit_;   // of the part that the place names: a length that its least edge is within
  std::vector<double> node_reach_;           // by node, as the next
  std::vector<std::int32_t> node_part_;
  std::vector<SpanningEdge> edges_;
};

}   // namespace

std::vector<SpanningEdge> join_parts(const Context& ctx, const std::vector<double>& rows, std::int64_t n,
                                     std::int64_t dims, const Distance& distance, std::span<const double> reach) {
  Joining joining(rows, n, dims, distance, reach);
  while (const auto missing = static_cast<std::int64_t>(joining.missing())) {
    ctx.check_stop();
    ctx.progress("joining rows", n - 1 - missing, n - 1, "rows");
    joining.join();
  }
  return joining.take_edges();
}

}   // namespace kedge::engine
