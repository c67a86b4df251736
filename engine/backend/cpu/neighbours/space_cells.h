// Space divided into a cell for each rank, with about as many points in each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace kedge::engine {

// A k-d split of space by a sample of its points: a value. Points with the same coordinates are in one cell, so cells
// may be empty. The same sample, in the same order, gives the same cells.
template <class T>
class SpaceCells {
 public:
  // sample: rows of d coordinates.
  SpaceCells(const std::vector<T>& sample, std::int64_t d, int n_cells) : sample_(sample), d_(d) {
    std::vector<std::int32_t> points(sample.size() / static_cast<std::size_t>(d));
    std::iota(points.begin(), points.end(), 0);
    root_ = split(0, n_cells, points);
  }

  int cell_of(const T* point) const {
    int at = root_;
    while (at >= 0) {
      const Node& node = nodes_[static_cast<std::size_t>(at)];
      at = point[node.column] < node.value ? node.less : node.rest;
    }
    return ~at;
  }

 private:
  struct Node {
    std::int64_t column;
    T value;
    int less, rest;   // nodes, or ~cell
  };

  T at(std::int32_t point, std::int64_t column) const { return sample_[static_cast<std::size_t>(point * d_ + column)]; }

  std::int64_t widest(std::span<const std::int32_t> points) const {
    std::int64_t widest = 0;
    double width = -1;
    for (std::int64_t j = 0; j < d_ && !points.empty(); ++j) {
      const auto by_value = [&](std::int32_t a, std::int32_t b) { return at(a, j) < at(b, j); };
      const auto [low, high] = std::ranges::minmax_element(points, by_value);
      const double here = static_cast<double>(at(*high, j)) - static_cast<double>(at(*low, j));
      if (here > width) width = here, widest = j;
    }
    return widest;
  }

  // Cells [first, end) of these points of the sample, whose order it changes.
  int split(int first, int end, std::span<std::int32_t> points) {
    if (end - first == 1) return ~first;
    const int middle = first + (end - first) / 2;
    const std::int64_t column = widest(points);
    const auto by_value = [&](std::int32_t a, std::int32_t b) { return at(a, column) < at(b, column); };
    std::ranges::sort(points, by_value);
    auto half = points.begin() + std::ssize(points) * (middle - first) / (end - first);
    if (half != points.end()) half = std::ranges::lower_bound(points, *half, by_value);
    if (half == points.begin() && !points.empty()) half = std::ranges::upper_bound(points, *half, by_value);
    const T value = half != points.end() ? at(*half, column) : std::numeric_limits<T>::max();
    const auto node = static_cast<int>(nodes_.size());
    nodes_.push_back({column, value, 0, 0});
    const int less = split(first, middle, {points.begin(), half}), rest = split(middle, end, {half, points.end()});
    nodes_[static_cast<std::size_t>(node)].less = less, nodes_[static_cast<std::size_t>(node)].rest = rest;
    return node;
  }

  const std::vector<T>& sample_;   // of the constructor alone
  const std::int64_t d_;
  std::vector<Node> nodes_;
  int root_ = 0;
};

}   // namespace kedge::engine
