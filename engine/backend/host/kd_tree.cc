// Builds k-d trees: halves the points at the median of their widest column until 16 are left.
#include "engine/backend/host/kd_tree.h"

#include <algorithm>
#include <numeric>
#include <thread>

namespace kedge::engine {
namespace {

constexpr std::int32_t kThreadLeaves = 2048;   // a subtree worth a thread of its own

template <class T>
class Builder {
 public:
  Builder(MatrixView<const T> points, KdTree<T>& tree) : points_(points), tree_(tree) {}

  void node(std::int32_t id, std::int32_t first, std::int32_t count, int threads) {
    std::int32_t* const begin = tree_.order.data() + static_cast<std::int64_t>(first) * kKdLeaf;
    std::int32_t* const end = tree_.order.data() + std::min(tree_.n, static_cast<std::int64_t>(first + count) * kKdLeaf);
    const std::int64_t column = box(id, begin, end);
    if (count == 1) return leaf(first, begin, end);
    const std::int32_t half = count / 2;
    std::nth_element(begin, begin + static_cast<std::int64_t>(half) * kKdLeaf, end, [&](std::int32_t a, std::int32_t b) {
      const T x = at(a, column), y = at(b, column);
      return x < y || (x == y && a < b);
    });
    std::jthread left;
    if (threads > 1 && half > kThreadLeaves) left = std::jthread([=, this] { node(id + 1, first, half, threads / 2); });
    else node(id + 1, first, half, 1);
    node(id + 2 * half, first + half, count - half, threads / 2);
  }

 private:
  T at(std::int32_t i, std::int64_t j) const { return points_.data[i * points_.stride + j]; }

  // Writes the box of the points; its widest column.
  std::int64_t box(std::int32_t id, const std::int32_t* begin, const std::int32_t* end) {
    const std::int64_t d = tree_.d;
    T *const low = tree_.boxes.data() + id * 2 * d, *const high = low + d;
    for (std::int64_t j = 0; j < d; ++j) low[j] = high[j] = at(*begin, j);
    for (const std::int32_t* i = begin; i < end; ++i) {
      for (std::int64_t j = 0; j < d; ++j) low[j] = std::min(low[j], at(*i, j)), high[j] = std::max(high[j], at(*i, j));
    }
    std::int64_t widest = 0;
    for (std::int64_t j = 1; j < d; ++j)
      if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
    return widest;
  }

  void leaf(std::int32_t leaf, const std::int32_t* begin, const std::int32_t* end) {
    T* const block = tree_.blocks.data() + static_cast<std::int64_t>(leaf) * tree_.d * kKdLeaf;
    for (const std::int32_t* i = begin; i < end; ++i) {
      for (std::int64_t j = 0; j < tree_.d; ++j) block[j * kKdLeaf + (i - begin)] = at(*i, j);
    }
  }

  MatrixView<const T> points_;
  KdTree<T>& tree_;
};

}  // namespace

template <class T>
KdTree<T>::KdTree(MatrixView<const T> points) : n(points.rows), d(points.cols), leaves(static_cast<std::int32_t>((points.rows + kKdLeaf - 1) / kKdLeaf)) {
  order.assign(static_cast<std::size_t>(leaves) * kKdLeaf, -1);
  std::iota(order.begin(), order.begin() + n, 0);
  blocks.assign(order.size() * static_cast<std::size_t>(d), T{0});
  boxes.resize((2 * static_cast<std::size_t>(leaves) - 1) * 2 * static_cast<std::size_t>(d));
  Builder<T>(points, *this).node(0, 0, leaves, 4);
}

template struct KdTree<float>;
template struct KdTree<double>;

}  // namespace kedge::engine
