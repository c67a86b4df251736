// Builds k-d trees: halves the points at the median of their widest column until 16 are left.
#include "engine/backend/host/kd_tree.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/backend/host/side_by_side.h"
#include "engine/backend/raw.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr std::int32_t kThreadLeaves = 512;   // more in a subtree are worth a thread of its own
constexpr std::size_t kSubtrees = 32;

// A point by its value in one column; of equal values the earlier point is less.
template <class T>
struct ByValue {
  T value;
  std::int32_t point;

  bool operator<(const ByValue& other) const { return (value < other.value) | ((value == other.value) & (point < other.point)); }
};

// Moves the k least to the front, as std::nth_element does, without branches that depend on the values.
template <class T>
void select_least(ByValue<T>* begin, ByValue<T>* end, std::int64_t k) {
  constexpr std::int64_t kShort = 64;
  ByValue<T>* const middle = begin + k;
  for (int passes = 64; end - begin > kShort && passes > 0; --passes) {   // that few do unless the values are made to prevent it
    ByValue<T>&first = *begin, &centre = begin[(end - begin) / 2], &last = end[-1];
    if (centre < first) std::swap(centre, first);
    if (last < first) std::swap(last, first);
    if (centre < last) std::swap(centre, last);   // the median of the three is the last
    const ByValue<T> pivot = last;
    ByValue<T>* less = begin;
    for (ByValue<T>* i = begin; i < end - 1; ++i) {   // Lomuto's partition
      const ByValue<T> here = *i;
      *i = *less, *less = here;
      less += here < pivot;
    }
    std::swap(*less, end[-1]);
    if (less == middle) return;
    if (less < middle) begin = less + 1;
    else end = less;
  }
  std::nth_element(begin, middle, end);
}

template <class T>
class Builder {
 public:
  Builder(MatrixView<const T> points, KdTree<T>& tree) : points_(points), tree_(tree), by_value_(tree.order.size()) {}

  // Level by level, the nodes of one side by side, until there are subtrees enough for all threads.
  void build() {
    std::vector<Node> nodes{{0, 0, tree_.leaves}};
    while (nodes.size() < kSubtrees && nodes[0].count > 2 * kThreadLeaves) {
      std::vector<Node> halves(2 * nodes.size());
      for_each(nodes.size(), [&](std::size_t i) { split(nodes[i], halves[2 * i], halves[2 * i + 1]); });
      nodes = std::move(halves);
    }
    for_each(nodes.size(), [&](std::size_t i) { subtree(nodes[i]); });
  }

 private:
  struct Node {
    std::int32_t id, first, count;   // its leaves: those from first on
  };

  static void for_each(std::size_t n, const std::function<void(std::size_t)>& work) {
    if (n == 1) return work(0);
    side_by_side(static_cast<std::int64_t>(n), [&](std::int64_t i) { work(static_cast<std::size_t>(i)); });
  }

  void subtree(const Node& node) {
    if (node.count == 1) return leaf(node);
    Node left, right;
    split(node, left, right);
    subtree(left), subtree(right);
  }

  void split(const Node& node, Node& left, Node& right) {
    check_job_stop();
    const std::span<std::int32_t> points = points_of(node);
    const std::int64_t column = box(node.id, points);
    const std::int32_t half = node.count / 2;
    ByValue<T>* const sorted = by_value_.data() + (points.data() - tree_.order.data());
    for (std::size_t i = 0; i < points.size(); ++i) sorted[i] = {at(points[i], column), points[i]};
    select_least(sorted, sorted + points.size(), static_cast<std::int64_t>(half) * kKdLeaf);
    for (std::size_t i = 0; i < points.size(); ++i) points[i] = sorted[i].point;
    left = {node.id + 1, node.first, half}, right = {node.id + 2 * half, node.first + half, node.count - half};
  }

  T at(std::int32_t i, std::int64_t j) const { return raw(points_)[i * points_.stride + j]; }

  std::span<std::int32_t> points_of(const Node& node) {
    const std::int64_t first = std::int64_t{node.first} * kKdLeaf, end = std::min(tree_.n, first + std::int64_t{node.count} * kKdLeaf);
    return std::span(tree_.order).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
  }

  // Writes the box of the points; its widest column.
  std::int64_t box(std::int32_t id, std::span<const std::int32_t> points) {
    const std::int64_t d = tree_.d;
    T *const low = tree_.boxes.data() + id * 2 * d, *const high = low + d;
    for (std::int64_t j = 0; j < d; ++j) low[j] = high[j] = at(points[0], j);
    for (const std::int32_t i : points) {
      for (std::int64_t j = 0; j < d; ++j) low[j] = std::min(low[j], at(i, j)), high[j] = std::max(high[j], at(i, j));
    }
    std::int64_t widest = 0;
    for (std::int64_t j = 1; j < d; ++j)
      if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
    return widest;
  }

  void leaf(const Node& node) {
    const std::span<const std::int32_t> points = points_of(node);
    box(node.id, points);
    T* const block = tree_.blocks.data() + std::int64_t{node.first} * tree_.d * kKdLeaf;
    for (std::size_t l = 0; l < points.size(); ++l) {
      for (std::int64_t j = 0; j < tree_.d; ++j) block[j * kKdLeaf + static_cast<std::int64_t>(l)] = at(points[l], j);
    }
  }

  MatrixView<const T> points_;
  KdTree<T>& tree_;
  std::vector<ByValue<T>> by_value_;   // of the points of a node, at its place in the order
};

}  // namespace

template <class T>
KdTree<T>::KdTree(MatrixView<const T> points) : n(points.rows), d(points.cols), leaves(static_cast<std::int32_t>((points.rows + kKdLeaf - 1) / kKdLeaf)) {
  order.assign(static_cast<std::size_t>(leaves) * kKdLeaf, -1);
  std::iota(order.begin(), order.begin() + n, 0);
  blocks.assign(order.size() * static_cast<std::size_t>(d), T{0});
  boxes.resize((2 * static_cast<std::size_t>(leaves) - 1) * 2 * static_cast<std::size_t>(d));
  Builder<T>(points, *this).build();
}

template struct KdTree<float>;
template struct KdTree<double>;

}  // namespace kedge::engine
