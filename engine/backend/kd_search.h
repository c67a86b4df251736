// k-d trees over points: how they are laid out, and the one walk that every device does on them.
#pragma once

#include <cstdint>

#include "engine/backend/distance.h"
#include "engine/core/portability.h"

namespace kedge::engine {

inline constexpr int kKdLeaf = 16;         // points of a leaf; only the last may have fewer
inline constexpr int kKdDepth = 40;        // more levels than 2^31 points make
inline constexpr std::int64_t kKdColumns = 10;       // beyond, a walk visits most leaves and a scan is faster
inline constexpr std::int64_t kKdFewestPoints = 256;

// Leaves are numbered from left to right. A node over `count` leaves has its left child, over count / 2 of them, at id + 1, and the
// right one at id + 2 * (count / 2). blocks: for each leaf d rows of kKdLeaf coordinates; order: the points' indices, -1 beyond the
// last; boxes: for each node d least and d largest coordinates.
template <class T>
struct KdView {
  const std::int32_t* order = nullptr;
  const T* blocks = nullptr;
  const T* boxes = nullptr;
  std::int64_t n = 0, d = 0;
  std::int32_t leaves = 0;
};

struct KdNode {
  std::int32_t id, first, count;   // leaves first .. first + count - 1
  double least;                    // no point of the node is nearer
};

// pow() may be off by an ulp and so not monotonic: bounds made with it give way.
template <Metric M>
constexpr double kBoundSlack = M == Metric::kMinkowski ? 1e-12 : 0.0;

KEDGE_HD_INLINE double larger(double a, double b) { return a > b ? a : b; }

// Differences, terms and sums are monotonic as rounded, and in the order of short_distance(): bounds hold to the bit.
template <Metric M, class T>
KEDGE_HD_INLINE double least_distance(const KdView<T>& tree, std::int32_t node, const T* q, double power) {
  const T *const low = tree.boxes + node * 2 * tree.d, *const high = low + tree.d;
  double sum = 0;
  for (std::int64_t j = 0; j < tree.d; ++j) {
    const double x = static_cast<double>(q[j]), below = static_cast<double>(low[j]) - x, above = x - static_cast<double>(high[j]);
    sum = join_terms<M>(sum, distance_term<M>(larger(larger(below, 0.0), above), power));
  }
  return sum * (1 - kBoundSlack<M>);
}
template <Metric M, class T>
KEDGE_HD double largest_distance(const KdView<T>& tree, std::int32_t node, const T* q, double power) {
  const T *const low = tree.boxes + node * 2 * tree.d, *const high = low + tree.d;
  double sum = 0;
  for (std::int64_t j = 0; j < tree.d; ++j) {
    const double a = fabs(static_cast<double>(q[j]) - static_cast<double>(low[j])), b = fabs(static_cast<double>(q[j]) - static_cast<double>(high[j]));
    sum = join_terms<M>(sum, distance_term<M>(a > b ? a : b, power));
  }
  return sum * (1 + kBoundSlack<M>);
}

// Distances of q to the points of a leaf, side by side.
template <Metric M, class T>
KEDGE_HD_INLINE void leaf_distances(const KdView<T>& tree, std::int32_t leaf, const T* q, double power, double (&reduced)[kKdLeaf]) {
  const T* block = tree.blocks + static_cast<std::int64_t>(leaf) * tree.d * kKdLeaf;
  for (int l = 0; l < kKdLeaf; ++l) reduced[l] = 0;
  for (std::int64_t j = 0; j < tree.d; ++j, block += kKdLeaf) {
    const double x = static_cast<double>(q[j]);
    for (int l = 0; l < kKdLeaf; ++l) reduced[l] = join_terms<M>(reduced[l], distance_term<M>(x - static_cast<double>(block[l]), power));
  }
}

// Whether the node may have points that the visitor wants one by one.
template <Metric M, class T, class Visitor>
KEDGE_HD_INLINE bool enters(const KdView<T>& tree, const KdNode& node, const T* q, double power, Visitor& visitor) {
  if (!(node.least <= visitor.limit())) return false;
  if constexpr (Visitor::kAsksForWhole) return !visitor.whole(node, largest_distance<M>(tree, node.id, q, power));
  return true;
}

// Visits the leaves that may have a point within visitor.limit(), which may shrink, nearer halves first. If
// kAsksForWhole, visitor.whole(node, largest distance) may take all points of a node at once.
template <Metric M, class T, class Visitor>
KEDGE_HD_INLINE void kd_walk(const KdView<T>& tree, const T* q, double power, Visitor& visitor) {
  KdNode stack[kKdDepth], node{0, 0, tree.leaves, least_distance<M>(tree, 0, q, power)};
  for (int top = 0;; node = stack[--top]) {
    while (enters<M>(tree, node, q, power, visitor)) {
      if (node.count == 1) {
        double reduced[kKdLeaf];
        leaf_distances<M>(tree, node.first, q, power, reduced);
        visitor.leaf(tree.order + static_cast<std::int64_t>(node.first) * kKdLeaf, reduced);
        break;
      }
      const std::int32_t half = node.count / 2, rest = node.count - half;
      const double left = least_distance<M>(tree, node.id + 1, q, power), right = least_distance<M>(tree, node.id + 2 * half, q, power);
      const bool is_right = right < left;   // chosen without branches, which would be guessed wrong half of the time
      stack[top++] = {node.id + (is_right ? 1 : 2 * half), node.first + (is_right ? 0 : half), is_right ? half : rest, is_right ? left : right};
      node = {node.id + (is_right ? 2 * half : 1), node.first + (is_right ? half : 0), is_right ? rest : half, is_right ? right : left};
    }
    if (top == 0) return;
  }
}

// The k nearest, sorted, in arrays of the caller; of equal distances the lower index.
struct NearestVisitor {
  static constexpr bool kAsksForWhole = false;
  double* distances;
  std::int32_t* indices;
  int k, found = 0;
  double infinity;

  KEDGE_HD_INLINE double limit() const { return found < k ? infinity : distances[k - 1]; }
  KEDGE_HD_INLINE void leaf(const std::int32_t* order, const double (&reduced)[kKdLeaf]) {
    const double within = limit();   // shrinks on the way; most leaves have no point so near
    unsigned near = 0;
    for (int l = 0; l < kKdLeaf; ++l) near |= static_cast<unsigned>(reduced[l] <= within) << l;
    for (int l = 0; near != 0; ++l, near >>= 1) {
      if ((near & 1) != 0 && order[l] >= 0 && reduced[l] <= limit()) add(reduced[l], order[l]);
    }
  }
  KEDGE_HD void add(double distance, std::int32_t index) {
    if (found == k && distance == distances[k - 1] && index > indices[k - 1]) return;
    int at = found < k ? found++ : k - 1;
    for (; at > 0 && (distance < distances[at - 1] || (distance == distances[at - 1] && index < indices[at - 1])); --at)
      distances[at] = distances[at - 1], indices[at] = indices[at - 1];
    distances[at] = distance, indices[at] = index;
  }
};

// How many lie within a distance; stops at `enough`.
struct CountVisitor {
  static constexpr bool kAsksForWhole = true;
  double within;
  std::int64_t n, enough, count = 0;

  KEDGE_HD_INLINE double limit() const { return count < enough ? within : -1.0; }
  KEDGE_HD bool whole(const KdNode& node, double largest) {
    if (!(largest <= within)) return false;
    const std::int64_t first = static_cast<std::int64_t>(node.first) * kKdLeaf, end = first + static_cast<std::int64_t>(node.count) * kKdLeaf;
    count += (end < n ? end : n) - first;
    return true;
  }
  KEDGE_HD_INLINE void leaf(const std::int32_t* order, const double (&reduced)[kKdLeaf]) {
    for (int l = 0; l < kKdLeaf; ++l) count += order[l] >= 0 && reduced[l] <= within;
  }
};

// Calls take(index, distance) for all within a distance, in the order of the walk.
template <class Take>
struct EachVisitor {
  static constexpr bool kAsksForWhole = false;
  double within;
  Take take;

  KEDGE_HD_INLINE double limit() const { return within; }
  KEDGE_HD_INLINE void leaf(const std::int32_t* order, const double (&reduced)[kKdLeaf]) {
    for (int l = 0; l < kKdLeaf; ++l) {
      if (order[l] >= 0 && reduced[l] <= within) take(order[l], reduced[l]);
    }
  }
};
template <class Take>
EachVisitor(double, Take) -> EachVisitor<Take>;

}  // namespace kedge::engine
