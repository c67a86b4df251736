// Rows through imported trees: small nodes, blocks of rows and of trees that fit the caches, 16 walks side by side.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "engine/backend/host/row_chunks.h"
#include "engine/imported/tree_ensemble.h"

namespace kedge::engine {
namespace {

constexpr int kLanesOfWalk = 16;                 // walks side by side, which hide each other's loads
constexpr std::int64_t kRowsBytes = 256 << 10;   // of a block of rows: half of a small L2
constexpr std::int64_t kTreesBytes = 16 << 10;   // of a group of trees: half of a small L1
constexpr std::int64_t kMostRows = 4096;         // of a block
constexpr std::int32_t kShallow = 8;             // depth of a tree
constexpr std::int64_t kStepNs = 2;

// 8 bytes: where a tree has few nodes and there are few columns.
struct NarrowNode {
  using Value = float;
  static constexpr std::int64_t kMostNodes = 1 << 19, kMostColumns = (1 << 12) - 1;
  float threshold;
  std::uint32_t packed;   // left child: 19 bits, column: 12, missing values go left: 1

  NarrowNode(double threshold, std::uint32_t left, std::uint32_t column, std::uint8_t flags)
      : threshold(static_cast<float>(threshold)), packed(left << 13 | column << 1 | (flags & 1U)) {}
  std::uint32_t left() const { return packed >> 13; }
  std::uint32_t column() const { return packed >> 1 & kMostColumns; }
  bool is_missing_left() const { return (packed & 1) != 0; }
};

template <class T>
struct WideNode {
  using Value = T;
  T threshold;
  std::uint32_t left_child, column_read;
  WideNode(double threshold, std::uint32_t left, std::uint32_t column, std::uint8_t flags)
      : threshold(static_cast<T>(threshold)), left_child(left << 1 | (flags & 1U)), column_read(column) {}
  std::uint32_t left() const { return left_child >> 1; }
  std::uint32_t column() const { return column_read; }
  bool is_missing_left() const { return (left_child & 1) != 0; }
};

// What a walk looks at beside nodes: nothing, missing values, or all that a node can say.
enum class Look { kCut, kMissing, kAll };

template <class Node>
struct Tree {
  std::int32_t depth = 0;
  const Node* nodes = nullptr;
  const std::uint8_t* flags = nullptr;   // kAll only
  const std::int32_t* set = nullptr;
};

template <class Node, bool kStrict>
inline __attribute__((always_inline)) bool goes_left_by_cut(typename Node::Value value, const Node& node) {
  return kStrict ? value < node.threshold : value <= node.threshold;
}

// The whole of a node's rule.
template <class Node, bool kStrict>
bool goes_left_by_all(const TreeEnsemble& e, const Tree<Node>& tree, std::uint32_t at, typename Node::Value value) {
  const std::uint8_t flags = tree.flags[at];
  const Node& node = tree.nodes[at];
  if (flags & node_flag::kCategory) {
    if (std::isnan(value)) return node.is_missing_left();
    return is_in_set(e, tree.set[at], static_cast<double>(value));
  }
  if (flags & node_flag::kEqual) return std::isnan(value) ? node.is_missing_left() : value == node.threshold;
  const bool is_missing = std::isnan(value);
  if (flags & node_flag::kZeroIsMissing) {
    if (is_missing || std::abs(value) <= kZeroRange) return node.is_missing_left();
  } else if (is_missing) {
    if (!(flags & node_flag::kMissingIsZero)) return node.is_missing_left();
    value = 0;
  }
  return goes_left_by_cut<Node, kStrict>(value, node);
}

template <class Node, bool kStrict, Look kLook>
inline __attribute__((always_inline)) std::uint32_t next_of(const TreeEnsemble& e, const Tree<Node>& tree,
                                                            std::uint32_t at, const typename Node::Value* cells,
                                                            int spread) {
  const Node node = tree.nodes[at];
  const typename Node::Value value = cells[node.column() * static_cast<std::uint32_t>(spread)];
  bool is_left;
  if constexpr (kLook == Look::kAll) is_left = goes_left_by_all<Node, kStrict>(e, tree, at, value);
  else is_left = goes_left_by_cut<Node, kStrict>(value, node);
  if constexpr (kLook == Look::kMissing) is_left |= static_cast<bool>((value != value) & node.is_missing_left());
  return node.left() + (is_left ? 0U : 1U);
}

using Places = std::array<std::uint32_t, kLanesOfWalk>;

// One step of 16 walks; a leaf leads to itself. 0: all are at leaves.
template <class Step>
inline __attribute__((always_inline)) std::uint32_t step_all(Places& at, const Step& next_of_lane) {
  std::uint32_t moved = 0;
  for (int lane = 0; lane < kLanesOfWalk; ++lane) {
    const std::uint32_t next = next_of_lane(lane, at[lane]);
    moved |= next ^ at[lane], at[lane] = next;
  }
  return moved;
}

// In a shallow tree nearly every 16 rows need as many steps as it is deep: the question whether all have ended costs
// more than it saves.
template <class Step>
inline __attribute__((always_inline)) Places walk_all(std::int32_t depth, const Step& next_of_lane) {
  Places at{};
  if (depth > kShallow)
    while (step_all(at, next_of_lane) != 0) {
    }
  else
    for (; depth > 0; --depth) step_all(at, next_of_lane);
  return at;
}

// The leaves that the 16 rows of a group reach in one tree.
template <class Node, bool kStrict, Look kLook>
inline __attribute__((always_inline)) Places leaves_of_rows(const TreeEnsemble& e, const Tree<Node>& tree,
                                                            const typename Node::Value* group) {
  return walk_all(tree.depth, [&](int lane, std::uint32_t at) {
    return next_of<Node, kStrict, kLook>(e, tree, at, group + lane, kLanesOfWalk);
  });
}

// The leaves that one row reaches in as many trees.
template <class Node, bool kStrict, Look kLook>
inline __attribute__((always_inline)) Places leaves_of_trees(const TreeEnsemble& e, const Tree<Node>* trees,
                                                             const typename Node::Value* row) {
  return walk_all(kShallow + 1, [&](int lane, std::uint32_t at) {
    return next_of<Node, kStrict, kLook>(e, trees[lane], at, row, 1);
  });
}

// A block of rows as the walk reads them: groups of 16 rows, of which each column lies together; fewer rows one after
// the other. Behind the last column is one that leads every leaf to itself.
template <class T>
struct RowBlock {
  std::vector<T> cells, sums;
  std::int64_t n_rows = 0, row_cells = 0;   // columns, with the one behind the last
  bool has_missing = false;
  bool are_few() const { return n_rows < kLanesOfWalk; }
  T* cell(std::int64_t row, std::int64_t column) {
    if (are_few()) return cells.data() + row * row_cells + column;
    const std::int64_t group = row / kLanesOfWalk;
    return cells.data() + (group * row_cells + column) * kLanesOfWalk + row % kLanesOfWalk;
  }
};

template <class Node>
class Packed {
 public:
  using T = typename Node::Value;

  Packed(const TreeEnsemble& e, std::span<const double> leaf_values)
      : e_(e), leaf_values_(leaf_values.begin(), leaf_values.end()) {
    nodes_.reserve(static_cast<std::size_t>(e.n_nodes()));
    for (std::int64_t t = 0; t < e.n_trees(); ++t) {
      for (std::int64_t i = 0; i < e.tree_offset[t + 1] - e.tree_offset[t]; ++i) pack(e.tree_offset[t] + i, i);
    }
    for (std::int64_t t = 0; t < e.n_trees(); ++t) {
      const std::int64_t begin = e.tree_offset[t];
      trees_.push_back({depth_of(t), nodes_.data() + begin, e.flags.data() + begin, e.set.data() + begin});
    }
    for (const std::uint8_t flags : e.flags) {
      looks_at_all_ |= (flags & (node_flag::kCategory | node_flag::kZeroIsMissing | node_flag::kEqual)) != 0;
      missing_is_zero_ |= (flags & node_flag::kMissingIsZero) != 0;
    }
  }

  std::int64_t rows_of_block() const {
    const std::int64_t row = (e_.n_cols + 1 + e_.n_outputs) * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t rows = std::clamp<std::int64_t>(kRowsBytes / row, kLanesOfWalk, kMostRows);
    return rows / kLanesOfWalk * kLanesOfWalk;
  }

  // Margins of n <= rows_of_block() rows, to `out`.
  void sum(const double* rows, std::int64_t n, double* out) const {
    RowBlock<T> block = read(rows, n);
    const Look look = looks_at_all_ || (block.has_missing && missing_is_zero_) ? Look::kAll
                      : block.has_missing                                      ? Look::kMissing
                                                                               : Look::kCut;
    if (e_.is_strict) add<true>(look, block);
    else add<false>(look, block);
    for (std::int64_t i = 0; i < n * e_.n_outputs; ++i)
      out[i] = static_cast<double>(block.sums[static_cast<std::size_t>(i)] / static_cast<T>(e_.divisor));
  }

 private:
  // Children lie behind their parents.
  std::int32_t depth_of(std::int64_t t) const {
    const std::int64_t begin = e_.tree_offset[t], n = e_.tree_offset[t + 1] - begin;
    std::vector<std::int32_t> depth(static_cast<std::size_t>(n), 0);
    std::int32_t most = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      most = std::max(most, depth[i]);
      if (e_.feature[begin + i] < 0) continue;
      for (const std::int64_t child : {e_.left[begin + i], e_.left[begin + i] + 1})
        depth[child] = std::max(depth[child], depth[i] + 1);
    }
    return most;
  }
  void pack(std::int64_t node, std::int64_t at) {
    const bool is_leaf = e_.feature[node] < 0;
    nodes_.emplace_back(e_.threshold[node], static_cast<std::uint32_t>(is_leaf ? at : e_.left[node]),
                        static_cast<std::uint32_t>(is_leaf ? e_.n_cols : e_.feature[node]), e_.flags[node]);
  }

  RowBlock<T> read(const double* rows, std::int64_t n) const {
    const std::int64_t lanes = (n + kLanesOfWalk - 1) / kLanesOfWalk * kLanesOfWalk, cols = e_.n_cols;
    RowBlock<T> block{.n_rows = n, .row_cells = cols + 1};
    block.cells.assign(static_cast<std::size_t>(lanes * block.row_cells), -std::numeric_limits<T>::infinity());
    bool has_missing = false;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < cols; ++j) {
        const T value = static_cast<T>(rows[i * cols + j]);
        has_missing |= value != value;
        *block.cell(i, j) = value;
      }
    block.has_missing = has_missing;
    block.sums.resize(static_cast<std::size_t>(lanes * e_.n_outputs));
    for (std::size_t i = 0; i < block.sums.size(); ++i)
      block.sums[i] = static_cast<T>(e_.base[i % static_cast<std::size_t>(e_.n_outputs)]);
    return block;
  }

  template <bool kStrict>
  void add(Look look, RowBlock<T>& block) const {
    const bool are_few = block.are_few();
    if (look == Look::kCut) are_few ? add_few<kStrict, Look::kCut>(block) : add_many<kStrict, Look::kCut>(block);
    else if (look == Look::kMissing)
      are_few ? add_few<kStrict, Look::kMissing>(block) : add_many<kStrict, Look::kMissing>(block);
    else are_few ? add_few<kStrict, Look::kAll>(block) : add_many<kStrict, Look::kAll>(block);
  }

  template <bool kStrict, Look kLook>
  void add_many(RowBlock<T>& block) const {
    for (std::int64_t first = 0; first < e_.n_trees();) {
      std::int64_t last = first + 1;
      const auto bytes = [&] {
        return (e_.tree_offset[last] - e_.tree_offset[first]) * static_cast<std::int64_t>(sizeof(Node));
      };
      while (last < e_.n_trees() && bytes() < kTreesBytes) ++last;
      add_group<kStrict, kLook>(block, first, last);
      first = last;
    }
  }

  // Trees first .. last - 1 for all rows.
  template <bool kStrict, Look kLook>
  void add_group(RowBlock<T>& block, std::int64_t first, std::int64_t last) const {
    for (std::int64_t row = 0; row < block.n_rows; row += kLanesOfWalk) {
      for (std::int64_t t = first; t < last; ++t) {
        const Tree<Node>& tree = trees_[static_cast<std::size_t>(t)];
        const Places at = leaves_of_rows<Node, kStrict, kLook>(e_, tree, block.cells.data() + row * block.row_cells);
        T* const sums = block.sums.data() + row * e_.n_outputs + e_.tree_output[t];
        for (int lane = 0; lane < kLanesOfWalk; ++lane)
          add_leaf(tree.nodes[at[lane]].threshold, sums + lane * std::int64_t{e_.n_outputs});
      }
    }
  }

  // A leaf's value, or its row of values.
  void add_leaf(T value, T* sums) const {
    if (leaf_values_.empty()) {
      *sums += value;
      return;
    }
    const T* const values = leaf_values_.data() + static_cast<std::int64_t>(value) * e_.n_outputs;
    for (std::int32_t k = 0; k < e_.n_outputs; ++k) sums[k] += values[k];
  }

  template <bool kStrict, Look kLook>
  void add_few(RowBlock<T>& block) const {
    for (std::int64_t row = 0; row < block.n_rows; ++row) {
      const T* const cells = block.cells.data() + row * block.row_cells;
      T* const sums = block.sums.data() + row * e_.n_outputs;
      for (std::int64_t t = 0; t < e_.n_trees(); t += kLanesOfWalk) {
        std::array<Tree<Node>, kLanesOfWalk> trees;
        const auto n = static_cast<int>(std::min<std::int64_t>(kLanesOfWalk, e_.n_trees() - t));
        for (int lane = 0; lane < kLanesOfWalk; ++lane)
          trees[lane] = trees_[static_cast<std::size_t>(t + std::min(lane, n - 1))];
        const Places at = leaves_of_trees<Node, kStrict, kLook>(e_, trees.data(), cells);
        for (int lane = 0; lane < n; ++lane)
          add_leaf(trees[lane].nodes[at[lane]].threshold, sums + e_.tree_output[t + lane]);
      }
    }
  }

  const TreeEnsemble& e_;
  std::vector<T> leaf_values_;
  std::vector<Node> nodes_;
  std::vector<Tree<Node>> trees_;
  bool looks_at_all_ = false, missing_is_zero_ = false;
};

bool fits_narrow(const TreeEnsemble& e) {
  if (!e.is_float32 || e.n_cols > NarrowNode::kMostColumns) return false;
  for (std::int64_t t = 0; t < e.n_trees(); ++t)
    if (e.tree_offset[t + 1] - e.tree_offset[t] > NarrowNode::kMostNodes) return false;
  return true;
}

// XGBoost's formulas, in its order of operations.
float sigmoid_of(float margin, double) {
  constexpr float kEps = 1e-16F;
  return 1.0F / (std::exp(std::min(-margin, 88.7F)) + 1.0F + kEps);
}
double sigmoid_of(double margin, double scale) {
  return 1.0 / (1.0 + std::exp(-scale * margin));
}

template <class T>
void softmax(double* margins, std::int32_t n) {
  T most = static_cast<T>(margins[0]);
  for (std::int32_t k = 1; k < n; ++k) most = std::max(most, static_cast<T>(margins[k]));
  double sum = 0;
  for (std::int32_t k = 0; k < n; ++k) sum += margins[k] = std::exp(static_cast<T>(margins[k]) - most);
  for (std::int32_t k = 0; k < n; ++k) margins[k] = static_cast<T>(margins[k]) / static_cast<T>(sum);
}

template <class T>
T linked(const TreeEnsemble& e, T margin) {
  switch (e.link) {
    case EnsembleLink::kSigmoid:
      return sigmoid_of(margin, e.link_scale);
    case EnsembleLink::kExp:
      return std::exp(margin);
    case EnsembleLink::kLog1pExp:
      return std::log1p(std::exp(margin));
    case EnsembleLink::kSignedSquare:
      return margin * std::abs(margin);
    case EnsembleLink::kStep:
      return margin > 0 ? T{1} : T{0};
    default:
      return margin;
  }
}

template <class T>
void link_all(const TreeEnsemble& e, std::vector<double>& margins) {
  if (e.link == EnsembleLink::kSoftmax) {
    for (std::size_t i = 0; i + e.n_outputs <= margins.size(); i += e.n_outputs)
      softmax<T>(margins.data() + i, e.n_outputs);
    return;
  }
  for (double& margin : margins) margin = static_cast<double>(linked(e, static_cast<T>(margin)));
}

}   // namespace

struct EnsembleWalk::Impl {
  const TreeEnsemble& e;
  std::unique_ptr<const Packed<NarrowNode>> narrow;
  std::unique_ptr<const Packed<WideNode<float>>> floats;
  std::unique_ptr<const Packed<WideNode<double>>> doubles;

  template <class P>
  void sum(const P& packed, const double* rows, std::int64_t n_rows, double* out) const {
    const std::int64_t block = packed.rows_of_block(), n_blocks = (n_rows + block - 1) / block;
    const std::int64_t depth =
        std::bit_width(static_cast<std::uint64_t>(e.n_nodes() / std::max<std::int64_t>(1, e.n_trees())));
    for_tasks(n_blocks, n_rows * e.n_trees() * depth * kStepNs, [&](std::int64_t b) {
      const std::int64_t first = b * block;
      packed.sum(rows + first * e.n_cols, std::min(block, n_rows - first), out + first * e.n_outputs);
    });
  }
};

EnsembleWalk::EnsembleWalk(const TreeEnsemble& ensemble, std::span<const double> leaf_values)
    : impl_(new Impl{ensemble, {}, {}, {}}) {
  if (fits_narrow(ensemble)) impl_->narrow = std::make_unique<Packed<NarrowNode>>(ensemble, leaf_values);
  else if (ensemble.is_float32) impl_->floats = std::make_unique<Packed<WideNode<float>>>(ensemble, leaf_values);
  else impl_->doubles = std::make_unique<Packed<WideNode<double>>>(ensemble, leaf_values);
}
EnsembleWalk::~EnsembleWalk() = default;

std::vector<double> EnsembleWalk::margins(std::span<const double> rows, std::int64_t n_rows) const {
  std::vector<double> out(static_cast<std::size_t>(n_rows * impl_->e.n_outputs));
  if (impl_->narrow) impl_->sum(*impl_->narrow, rows.data(), n_rows, out.data());
  else if (impl_->floats) impl_->sum(*impl_->floats, rows.data(), n_rows, out.data());
  else impl_->sum(*impl_->doubles, rows.data(), n_rows, out.data());
  return out;
}

void to_predictions(const TreeEnsemble& ensemble, std::vector<double>& margins) {
  if (ensemble.is_float32) link_all<float>(ensemble, margins);
  else link_all<double>(ensemble, margins);
}

}   // namespace kedge::engine
