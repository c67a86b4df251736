// Prediction: trees packed into small nodes, a block of rows at a time, several rows interleaved to hide the
// latency of loads.
#include "engine/backend/cpu/trees/trees_predict.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/backend/cpu/trees/trees_grow.h"
#include "engine/backend/cpu/wide/trees_wide.h"
#include "engine/backend/cpu/wide/trees_wide_walk.h"
#include "engine/backend/host/huge_pages.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/host/row_chunks.h"
#include "engine/backend/raw.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kRows = 256;              // of a block
constexpr int kLanes = 8;                        // rows on their way through a tree at once
constexpr std::int64_t kBlockBytes = 512 << 10;  // of rows that are copied together
constexpr std::int64_t kFewRows = 16;
constexpr std::int64_t kTreeNs = 15;             // a row through a deep tree
constexpr std::int64_t kMostCopied = 8192;       // bytes of a row; most of a longer one is never read

// As CodeNode.
template <class T>
struct ValueNode {
  using Value = T;
  double threshold;
  std::uint32_t right, feature;
  bool goes_left(T value) const { return static_cast<double>(value) <= threshold; }
  static ValueNode inner(const Forest& f, std::int64_t i, std::uint32_t right) {
    return {f.threshold[i], right, static_cast<std::uint32_t>(f.feature[i])};
  }
  static ValueNode leaf(std::uint32_t self, std::uint32_t cls) {
    return {std::numeric_limits<double>::quiet_NaN(), self, cls};
  }
};

template <class Node>
class PackedForest {
 public:
  using Value = typename Node::Value;
  static constexpr std::uint32_t kMixed = 0xffffff;  // the leaf has several classes, or a value

  PackedForest(const Forest& forest, int n_threads) : forest_(forest), n_cols_(forest.n_cols) {
    require(n_cols_ < kMixed && forest.n_classes < static_cast<std::int32_t>(kMixed),
            schema::ErrorCode::kInvalidValue, "a forest on {} columns, at most {} are possible", n_cols_,
            kMixed - 1);
    nodes_.reserve(static_cast<std::size_t>(forest.n_nodes()));
    parallel_tasks(n_threads, n_trees(), [&](std::int64_t t, int) {
      for (std::int64_t i = begin_of(t); i < end_of(t); ++i) nodes_.data()[i] = pack(i, begin_of(t));
    });
  }

  std::int64_t n_trees() const { return static_cast<std::int64_t>(forest_.tree_offset.size()) - 1; }

  // Adds the shares of tree t for n <= kRows rows; row i lies at x[i], its sums at sums[i].
  void add_tree(std::int64_t t, const Value* const* x, double* const* sums, std::int64_t n) const {
    const Node* nodes = nodes_.data() + forest_.tree_offset[t];
    for (std::int64_t begin = 0; begin < n; begin += kLanes) {
      std::array<const Value*, kLanes> row;
      for (int lane = 0; lane < kLanes; ++lane) row[lane] = x[std::min(begin + lane, n - 1)];
      const std::array<std::uint32_t, kLanes> leaf = find_leaves(nodes, row);
      for (int lane = 0; lane < kLanes && begin + lane < n; ++lane)
        add_leaf(forest_.tree_offset[t] + leaf[lane], nodes[leaf[lane]].feature, sums[begin + lane]);
    }
  }

  // The same for n <= ReachedLeaves::kRows rows, whose sums begin at sums + i * sums_stride. Fetches the tree
  // first: the rows visit nearly all of it, in random order.
  void add_tree_wide(std::int64_t t, const std::uint8_t* codes, std::int64_t stride, std::int64_t n,
                     ReachedLeaves& leaves, double* sums, std::int64_t sums_stride) const {
    constexpr std::int64_t kLineNodes = 64 / sizeof(Node);
    for (std::int64_t i = begin_of(t); i < end_of(t) && n >= kLanes; i += kLineNodes)
      __builtin_prefetch(nodes_.data() + i, 0, 2);
    find_leaves_wide(nodes_.data() + begin_of(t), codes, stride, n, leaves);
    for (std::int64_t i = 0; i < n; ++i)
      add_leaf(begin_of(t) + leaves.node[i], leaves.feature[i], sums + leaves.row[i] * sums_stride);
  }

 private:
  std::int64_t begin_of(std::int64_t t) const { return forest_.tree_offset[t]; }
  std::int64_t end_of(std::int64_t t) const { return forest_.tree_offset[t + 1]; }

  Node pack(std::int64_t i, std::int64_t base) const {
    if (forest_.feature[i] >= 0)
      return Node::inner(forest_, i, static_cast<std::uint32_t>(forest_.right[i] - base));
    const double* share = forest_.value.data() + i * forest_.n_classes;   // none without classes
    std::uint32_t only = kMixed;
    for (std::int32_t c = 0; c < forest_.n_classes; ++c)
      if (share[c] == 1.0) only = static_cast<std::uint32_t>(c);
    return Node::leaf(static_cast<std::uint32_t>(i - base), only);
  }

  // A leaf's feature is no column: rows are read at column 0 there.
  std::array<std::uint32_t, kLanes> find_leaves(const Node* nodes,
                                                const std::array<const Value*, kLanes>& row) const {
    std::array<std::uint32_t, kLanes> at{};
    for (std::uint32_t moved = 1; moved != 0;) {
      moved = 0;
      for (int lane = 0; lane < kLanes; ++lane) {
        const Node node = nodes[at[lane]];
        const std::uint32_t column = node.feature < n_cols_ ? node.feature : 0;
        const std::uint32_t next = node.goes_left(row[lane][column]) ? at[lane] + 1 : node.right;
        moved |= next ^ at[lane];
        at[lane] = next;
      }
    }
    return at;
  }

  void add_leaf(std::int64_t node, std::uint32_t only, double* sums) const {
    if (only != kMixed) {
      sums[only] += 1.0;
      return;
    }
    if (forest_.n_classes == 0) sums[0] += forest_.mean[node];
    const double* share = forest_.value.data() + node * forest_.n_classes;
    for (std::int32_t c = 0; c < forest_.n_classes; ++c) sums[c] += share[c];
  }

  const Forest& forest_;
  std::int64_t n_cols_;
  HugeBuffer<Node> nodes_;
};

// Calls visit(begin, n, worker) for blocks of rows, on several threads.
template <class Visit>
void for_row_blocks(std::int64_t n_rows, std::int64_t block_rows, int n_threads, const Visit& visit) {
  parallel_tasks(n_threads, (n_rows + block_rows - 1) / block_rows, [&](std::int64_t block, int worker) {
    visit(block * block_rows, std::min(block_rows, n_rows - block * block_rows), worker);
  });
}

void divide_rows(MatrixView<double> out, std::int64_t begin, std::int64_t n, std::int64_t n_trees) {
  for (std::int64_t i = begin; i < begin + n; ++i)
    for (std::int64_t c = 0; c < out.cols; ++c) raw(out)[i * out.stride + c] /= static_cast<double>(n_trees);
}

template <class Node, class RowAt>
void predict_mean(const Forest& forest, std::int64_t n_rows, MatrixView<double> out, int n_threads,
                  const RowAt& row_at) {
  const PackedForest<Node> packed(forest, n_threads);
  for_row_blocks(n_rows, kRows, n_threads, [&](std::int64_t begin, std::int64_t n, int) {
    std::array<const typename Node::Value*, kRows> x;
    std::array<double*, kRows> sums;
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = row_at(begin + i), sums[i] = raw(out) + (begin + i) * out.stride;
      std::fill_n(sums[i], forest.n_outputs(), 0.0);
    }
    for (std::int64_t t = 0; t < packed.n_trees(); ++t) packed.add_tree(t, x.data(), sums.data(), n);
    divide_rows(out, begin, n, packed.n_trees());
  });
}

// The rows of a block are copied next to each other, where they and a tree fit into a core's cache.
template <class RowAt>
void predict_mean_wide(const Forest& forest, std::int64_t stride, MatrixView<double> out, int n_threads,
                       const RowAt& row_at) {
  const PackedForest<CodeNode> packed(forest, n_threads);
  const std::int64_t block_rows =
      std::clamp<std::int64_t>(kBlockBytes / std::max<std::int64_t>(stride, 1), 1, ReachedLeaves::kRows);
  std::vector<HugeBuffer<std::uint8_t>> copies(static_cast<std::size_t>(n_threads));
  for_row_blocks(out.rows, block_rows, n_threads, [&](std::int64_t begin, std::int64_t n, int worker) {
    copies[worker].reserve(static_cast<std::size_t>(block_rows * stride + 4));
    std::uint8_t* const codes = copies[worker].data();
    ReachedLeaves leaves;
    for (std::int64_t i = 0; i < n; ++i) {
      std::copy_n(row_at(begin + i), forest.n_cols, codes + i * stride);
      std::fill_n(raw(out) + (begin + i) * out.stride, forest.n_outputs(), 0.0);
    }
    for (std::int64_t t = 0; t < packed.n_trees(); ++t)
      packed.add_tree_wide(t, codes, stride, n, leaves, raw(out) + begin * out.stride, out.stride);
    divide_rows(out, begin, n, packed.n_trees());
  });
}

// By tree and row position: whether the tree drew the row.
std::vector<std::vector<bool>> drawn_rows(const ForestOptions& options, std::int64_t n_trees,
                                          std::int64_t n_rows, int n_threads) {
  std::vector<std::vector<bool>> drawn(static_cast<std::size_t>(n_trees));
  const TreeSeeds seeds(options, options.first_tree, n_trees);
  parallel_tasks(n_threads, n_trees, [&](std::int64_t t, int) {
    std::vector<std::uint32_t> counts;
    draw_rows(options, seeds, options.first_tree + t, n_rows, counts);
    drawn[t].assign(counts.begin(), counts.end());
  });
  return drawn;
}

// All rows of a block go through a tree level by level.
template <class RowAt, class Add>
void walk_wide(const CodedTrees& trees, std::int64_t n, const RowAt& row_at, const Add& add) {
  std::vector<CodedTrees::Code> codes(static_cast<std::size_t>(n * trees.n_cols() + 1));   // a read goes 2 bytes on
  trees.code_rows(n, row_at, codes.data());
  ReachedLeaves leaves;
  for (std::int64_t t = 0; t < trees.n_trees(); ++t) {
    find_coded_leaves_wide(trees, t, codes.data(), n, leaves);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t number = leaves.feature[i];
      add(t, leaves.row[i], number != CodedTrees::kElsewhere ? number : trees.number_of(leaves.node[i]));
    }
  }
}

}  // namespace

void predict_codes(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                   MatrixView<double> out, int n_threads) {
  const auto row_at = [&](std::int64_t i) {
    return raw(table.row_codes) + (rows.empty() ? i : raw(rows)[i]) * table.row_stride;
  };
  if (WideNodes::is_available() && table.row_stride <= kMostCopied) {
    predict_mean_wide(forest, table.row_stride, out, n_threads, row_at);
  } else {
    predict_mean<CodeNode>(forest, out.rows, out, n_threads, row_at);
  }
}

ValueForest::ValueForest(const Forest& forest) : forest_(forest) {
  // Of a leaf of one class the class, otherwise n_classes and its number in the tree.
  std::int64_t t = 0;
  const auto leaf_number = [&](std::int64_t node) {
    while (node >= forest.tree_offset[t + 1]) ++t;
    const double* const share = forest.value.data() + node * forest.n_classes;   // none without classes
    std::int32_t only = -1;
    for (std::int32_t c = 0; c < forest.n_classes; ++c)
      if (share[c] == 1.0) only = c;
    return static_cast<std::uint32_t>(only >= 0 ? only : forest.n_classes + (node - forest.tree_offset[t]));
  };
  coded_ = CodedTrees::pack({.n_cols = forest.n_cols,
                             .tree_offset = forest.tree_offset,
                             .feature = forest.feature,
                             .threshold = forest.threshold,
                             .left = forest.left,
                             .right = forest.right},
                            leaf_number);
}

void ValueForest::add_leaf(std::int64_t tree, std::uint32_t number, double* sums) const {
  const std::int64_t n_classes = forest_.n_classes;
  if (number < n_classes) {
    sums[number] += 1.0;
    return;
  }
  const std::int64_t node = forest_.tree_offset[tree] + number - n_classes;
  if (n_classes == 0) sums[0] += forest_.mean[node];
  const double* const share = forest_.value.data() + node * n_classes;
  for (std::int64_t c = 0; c < n_classes; ++c) sums[c] += share[c];
}

template <class T>
void ValueForest::predict(MatrixView<const T> X, MatrixView<double> out, int n_threads) const {
  const auto row_at = [&](std::int64_t i) { return raw(X) + i * X.stride; };
  if (!coded_) return predict_mean<ValueNode<T>>(forest_, X.rows, out, n_threads, row_at);
  const std::int64_t n_trees = coded_->n_trees();
  const bool pays = X.rows * n_trees * kTreeNs > kAloneNs;
  const std::int64_t each = (X.rows + n_threads - 1) / n_threads;
  const std::int64_t block = std::clamp<std::int64_t>((each + 15) / 16 * 16, 16, CodedTrees::kBlockRows);
  for_row_blocks(X.rows, block, pays ? n_threads : 1, [&](std::int64_t begin, std::int64_t n, int) {
    const MatrixView<double> sums(raw(out) + begin * out.stride, n, forest_.n_outputs(), out.stride);
    for (std::int64_t i = 0; i < n; ++i) std::fill_n(raw(sums) + i * sums.stride, sums.cols, 0.0);
    const auto block_row = [&](std::int64_t i) { return row_at(begin + i); };
    const auto add = [&](std::int64_t t, std::int64_t i, std::uint32_t number) {
      add_leaf(t, number, raw(sums) + i * sums.stride);
    };
    if (n >= kFewRows && WideNodes::is_available()) walk_wide(*coded_, n, block_row, add);
    else coded_->walk(0, n, block_row, add);
    divide_rows(out, begin, n, n_trees);
  });
}
template void ValueForest::predict(MatrixView<const float>, MatrixView<double>, int) const;
template void ValueForest::predict(MatrixView<const double>, MatrixView<double>, int) const;

OutOfBag predict_out_of_bag(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                            const ForestOptions& options, int n_threads) {
  const PackedForest<CodeNode> packed(forest, n_threads);
  const std::int64_t n_rows = rows.empty() ? table.n_rows : rows.size, n_outputs = forest.n_outputs();
  const auto drawn = drawn_rows(options, packed.n_trees(), n_rows, n_threads);
  OutOfBag result{std::vector<double>(static_cast<std::size_t>(n_rows * n_outputs)), std::vector<std::int32_t>(static_cast<std::size_t>(n_rows))};
  for_row_blocks(n_rows, kRows, n_threads, [&](std::int64_t begin, std::int64_t n, int) {
    std::array<const std::uint8_t*, kRows> x;
    std::array<double*, kRows> sums;
    for (std::int64_t t = 0; t < packed.n_trees(); ++t) {
      std::int64_t taken = 0;
      for (std::int64_t i = begin; i < begin + n; ++i) {
        if (drawn[t][i]) continue;
        x[taken] = raw(table.row_codes) + (rows.empty() ? i : raw(rows)[i]) * table.row_stride;
        sums[taken++] = result.sums.data() + i * n_outputs, ++result.n_trees[i];
      }
      packed.add_tree(t, x.data(), sums.data(), taken);
    }
  });
  return result;
}

}  // namespace kedge::engine
