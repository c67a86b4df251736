// Rows through many trees by small numbers: each cell becomes its place among the cuts of its column, a node has 8
// bytes, and 16 walks go side by side.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kedge::engine {

// Trees one after the other, as their owner has them; borrowed while they are packed. A value up to the threshold goes
// left. Absolute nodes; without `right` it is left + 1.
struct TreesView {
  std::int64_t n_cols = 0;
  std::span<const std::int64_t> tree_offset;
  std::span<const std::int32_t> feature;   // -1: a leaf
  std::span<const double> threshold;       // not NaN
  std::span<const std::int32_t> left, right;
  std::span<const std::uint8_t> missing_left = {};   // empty: missing values go right
};

// Value semantics; thread safe once it is made. Exact: the comparisons of values and of their places are the same.
class CodedTrees {
 public:
  static constexpr std::int64_t kBlockRows = 512;   // whose cells and the nodes of some trees fit an L2 cache
  using Code = std::uint16_t;
  static constexpr std::uint32_t kElsewhere = 0xffff;   // of a leaf: its number is not in the node

  // leaf_number(node): what a walk reports of a leaf; numbers below 65,535 are kept in the node itself. Null where a
  // column has more than 65,534 different cuts, there are as many columns or 2^31 nodes, or a node has two parents.
  // O(nodes log nodes).
  template <class LeafNumber>
  static std::unique_ptr<const CodedTrees> pack(const TreesView& trees, const LeafNumber& leaf_number) {
    std::vector<std::uint32_t> numbers(trees.feature.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (trees.feature[i] < 0) numbers[i] = leaf_number(static_cast<std::int64_t>(i));
    return pack_numbered(trees, numbers);
  }

  // add(tree, row, number) for the leaf of each of n <= kBlockRows rows in each tree; of a row in the order of the
  // trees from `first` on. row_at(i) points to the cells of row i.
  template <class RowAt, class Add>
  void walk(std::int64_t first, std::int64_t n, const RowAt& row_at, const Add& add) const {
    Block block = empty_block(n);
    for (std::int64_t j = 0; j < n_cols_; ++j) read_column(j, row_at, block);
    if (block.has_missing && !missing_left_.empty()) walk_block<true>(first, block, add);
    else walk_block<false>(first, block, add);
  }

  std::int64_t n_trees() const { return static_cast<std::int64_t>(offset_.size()) - 1; }
  std::int64_t n_cols() const { return n_cols_; }

  // What a walk of a device's own reads. A leaf leads to itself by the column n_cols, whose code is 0; its `cut` is its
  // number, or kElsewhere.
  struct Node {
    std::uint32_t left;   // the right one is behind it
    std::uint16_t column;
    Code cut;   // codes up to it go left
  };
  const Node* nodes() const { return nodes_.data(); }   // of all trees
  std::uint32_t root(std::int64_t tree) const { return static_cast<std::uint32_t>(offset_[tree]); }
  std::uint32_t number_of(std::uint32_t leaf) const {
    const std::uint32_t number = nodes_[leaf].cut;
    return number != kElsewhere ? number : numbers_[leaf];
  }
  // n x n_cols codes, row after row.
  template <class RowAt>
  void code_rows(std::int64_t n, const RowAt& row_at, Code* codes) const {
    for (std::int64_t j = 0; j < n_cols_; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        const auto value = static_cast<double>(row_at(i)[j]);
        codes[i * n_cols_ + j] = value != value ? kMissing : code_of(j, value);
      }
  }

 private:
  static constexpr int kLanes = 16;   // rows of a group
  static constexpr int kWalks = 8;    // side by side: as many places as there are registers
  static constexpr Code kMissing = 0xffff;
  static constexpr std::int64_t kGroupNodes = 2048;   // of trees that a block goes through together

  // Groups of 16 rows, of which each column lies together; fewer rows one after the other.
  struct Block {
    std::int64_t n = 0;
    std::int64_t lane_step = 0, column_step = 0, group_step = 0;   // in cells
    std::vector<Code> cells;
    bool has_missing = false;
    bool are_few() const { return n < kLanes; }
  };

  template <std::size_t kN>
  using Places = std::array<std::uint32_t, kN>;

  static std::unique_ptr<const CodedTrees> pack_numbered(const TreesView& trees,
                                                         const std::vector<std::uint32_t>& numbers);
  bool set_cuts(const TreesView& trees);
  bool place_nodes(const TreesView& trees, std::int64_t tree, const std::vector<std::uint32_t>& numbers);
  Code code_of(std::int64_t column, double value) const;

  Block empty_block(std::int64_t n) const {
    Block block{.n = n};
    const std::int64_t groups = (n + kLanes - 1) / kLanes;
    if (block.are_few()) block.lane_step = n_cols_ + 1, block.column_step = 1;
    else block.lane_step = 1, block.column_step = kLanes, block.group_step = (n_cols_ + 1) * kLanes;
    block.cells.assign(static_cast<std::size_t>(block.are_few() ? n * block.lane_step : groups * block.group_step), 0);
    return block;
  }

  template <class RowAt>
  void read_column(std::int64_t j, const RowAt& row_at, Block& block) const {
    bool has_missing = false;
    for (std::int64_t i = 0; i < block.n; ++i) {
      const auto value = static_cast<double>(row_at(i)[j]);
      const std::int64_t group = block.are_few() ? 0 : i / kLanes, lane = block.are_few() ? i : i % kLanes;
      const bool is_missing = value != value;
      has_missing |= is_missing;
      block.cells[static_cast<std::size_t>(group * block.group_step + j * block.column_step + lane * block.lane_step)] =
          is_missing ? kMissing : code_of(j, value);
    }
    block.has_missing |= has_missing;
  }

  template <bool kLooksAtMissing>
  std::uint32_t next_of(std::uint32_t at, const Code* cells, std::int64_t column_step) const {
    const Node node = nodes_[at];
    const Code code = cells[node.column * column_step];
    bool is_right = code > node.cut;
    if constexpr (kLooksAtMissing) is_right = is_right && !(code == kMissing && missing_left_[at]);
    return node.left + static_cast<std::uint32_t>(is_right);
  }

  // Two steps for each question whether all have ended: those at leaves stay there.
  template <std::size_t kN, class Next>
  static void descend(Places<kN>& at, const Next& next_of_lane) {
    for (std::uint32_t moved = 1; moved != 0;) {
      moved = 0;
      for (int lane = 0; lane < static_cast<int>(kN); ++lane) at[lane] = next_of_lane(lane, at[lane]);
      for (int lane = 0; lane < static_cast<int>(kN); ++lane) {
        const std::uint32_t next = next_of_lane(lane, at[lane]);
        moved |= next ^ at[lane], at[lane] = next;
      }
    }
  }

  template <bool kLooksAtMissing, class Add>
  void walk_block(std::int64_t first, const Block& block, const Add& add) const {
    if (block.are_few()) return walk_few<kLooksAtMissing>(first, block, add);
    while (first < n_trees()) {
      std::int64_t last = first + 1;
      while (last < n_trees() && offset_[last + 1] - offset_[first] <= kGroupNodes) ++last;
      for (std::int64_t begin = 0; begin < block.n; begin += kWalks) {
        const Code* const cells = block.cells.data() + begin / kLanes * block.group_step + begin % kLanes;
        const auto n = static_cast<int>(std::min<std::int64_t>(kWalks, block.n - begin));
        for (std::int64_t t = first; t < last; ++t) {
          Places<kWalks> at;
          at.fill(static_cast<std::uint32_t>(offset_[t]));
          descend(at,
                  [&](int lane, std::uint32_t node) { return next_of<kLooksAtMissing>(node, cells + lane, kLanes); });
          for (int lane = 0; lane < n; ++lane) add(t, begin + lane, number_of(at[lane]));
        }
      }
      first = last;
    }
  }

  // One row in 16 trees at a time.
  template <bool kLooksAtMissing, class Add>
  void walk_few(std::int64_t first, const Block& block, const Add& add) const {
    for (std::int64_t row = 0; row < block.n; ++row) {
      const Code* const cells = block.cells.data() + row * block.lane_step;
      for (std::int64_t t = first; t < n_trees(); t += kLanes) {
        const auto n = static_cast<int>(std::min<std::int64_t>(kLanes, n_trees() - t));
        Places<kLanes> at;
        for (int lane = 0; lane < kLanes; ++lane)
          at[lane] = static_cast<std::uint32_t>(offset_[t + std::min(lane, n - 1)]);
        descend(at, [&](int, std::uint32_t node) { return next_of<kLooksAtMissing>(node, cells, 1); });
        for (int lane = 0; lane < n; ++lane) add(t + lane, row, number_of(at[lane]));
      }
    }
  }

  std::int64_t n_cols_ = 0;
  std::vector<std::int64_t> offset_{0};    // n_trees + 1
  std::vector<std::int64_t> cut_offset_;   // n_cols + 1
  std::vector<double> cuts_;               // by column ascending, filled up with infinity to 2^k - 1
  std::vector<Node> nodes_;                // of each tree in breadth-first order
  std::vector<std::uint8_t> missing_left_;
  std::vector<std::uint32_t> numbers_;   // by node; empty where all are in the nodes
};

// How many cuts are below the value. A search without branches: the number of cuts is 2^k - 1.
inline CodedTrees::Code CodedTrees::code_of(std::int64_t column, double value) const {
  const double* const cuts = cuts_.data() + cut_offset_[column];
  std::int64_t code = 0;
  for (std::int64_t step = (cut_offset_[column + 1] - cut_offset_[column] + 1) / 2; step > 0; step /= 2)
    code += cuts[code + step - 1] < value ? step : 0;
  return static_cast<Code>(code);
}

}   // namespace kedge::engine
