// Tree operations: binning a table to bytes, growing a forest on the bytes, and running rows through it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/core/array.h"
#include "engine/core/view.h"

namespace kedge::engine {

// The values behind the bins of each column, on the host. Column j has bins 0 .. count(j) - 1, count(j) <= 256.
// Bin b holds the values in [low, high]; for a column with at most 256 distinct values low = high: nothing is lost.
struct BinEdges {
  std::vector<std::int32_t> offset;   // n_cols + 1; the bins of column j are offset[j] .. offset[j + 1] - 1
  std::vector<double> low, high;      // smallest and largest value seen in each bin
  int count(std::int64_t col) const { return offset[col + 1] - offset[col]; }
};

// Bin that stands for "no common bin".
inline constexpr std::int32_t kNoCommonBin = 256;

// A table as bytes, column-major on the device (codes[col * n_rows + row]), made once and shared by folds and trees. The other
// members hold the same bytes again for the CPU body; other devices leave them empty.
struct BinnedTable {
  std::int64_t n_rows = 0, n_cols = 0;
  Array<std::uint8_t> codes;
  BinEdges edges;
  Array<std::uint8_t> row_codes;   // row-major, row_stride bytes a row
  std::int64_t row_stride = 0;
  // Where most cells hold their column's most common bin: each row again as the bits and codes of its other cells
  // (RecordLayout in cpu/trees/trees_rows.h).
  Array<std::uint64_t> records;
  std::vector<std::uint32_t> record_of;   // by row: where its record begins, in words; n_rows + 1
  std::vector<std::int32_t> common;       // by column: its most common bin; kNoCommonBin where there are no records
};

// The first two judge classes, the others values.
enum class Criterion { kGini, kEntropy, kSquaredError, kAbsoluteError, kPoisson };
// kBest tries every cut of a column; kRandom one, at a random value between the column's least and greatest in the node.
enum class Splitter { kBest, kRandom };
// Where random numbers come from. kByNode: streams named by tree and node, so that nodes may be split in any order.
// kSklearn: those of scikit-learn, so that trees are its trees where bins lose nothing; such trees grow on the host.
enum class TreeDraws { kByNode, kSklearn };

struct ForestOptions {
  std::int64_t n_trees = 100;
  std::int64_t first_tree = 0;   // its number: tree t is the same however many are grown with it
  Criterion criterion = Criterion::kGini;
  Splitter splitter = Splitter::kBest;
  std::int32_t max_features = 1;   // columns looked at for a split
  std::int32_t max_depth = 0x7fffffff;
  std::int64_t min_samples_split = 2, min_samples_leaf = 1;
  double min_weight_fraction_leaf = 0;
  std::int64_t max_leaf_nodes = 0;   // 0: no limit; otherwise grown best-first
  double min_impurity_decrease = 0;
  bool bootstrap = true;
  std::int64_t n_draws = 0;           // rows drawn for each tree (max_samples); 0: as many as there are rows
  std::vector<double> draw_weights;   // by position: rows are drawn in proportion to them; empty: all equally
  std::uint64_t seed = 0;
  TreeDraws draws = TreeDraws::kByNode;
  bool is_single = false;             // kSklearn: a tree by itself, whose own seed `seed` is
  std::vector<double> class_weight;   // by class; empty: 1 each
  bool balance_each_tree = false;     // class_weight="balanced_subsample"
};

// What the trees fit. `values` and `weights` are on the host, one for each row that grow() is given, in its order.
struct TreeTarget {
  std::int32_t n_classes = 0;             // 0: values
  VectorView<const std::int32_t> codes;   // of the classes, by table row, device
  std::span<const double> values;
  std::span<const double> weights;   // of the rows, times how often they are drawn; empty: 1 each
};

// Flat trees, on the host. Children of node i of tree t are absolute node indices; a leaf has feature -1.
struct Forest {
  std::int32_t n_classes = 0;   // 0: the trees predict values
  std::int64_t n_cols = 0;
  std::vector<std::int64_t> tree_offset;   // n_trees + 1
  std::vector<std::int32_t> feature;       // -1 for a leaf
  std::vector<std::uint8_t> bin;           // rows with code <= bin go left
  std::vector<double> threshold;           // the same split on values: value <= threshold goes left
  std::vector<std::int32_t> left, right;
  std::vector<double> value;   // n_nodes x n_classes: class shares
  std::vector<double> mean;    // without classes, by node: the predicted value
  std::vector<double> impurity;
  std::vector<double> weight;         // weighted rows of the node
  std::vector<std::int32_t> n_rows;   // different rows of the node, however often each was drawn; empty: not known
  std::int64_t n_trees() const { return static_cast<std::int64_t>(tree_offset.size()) - 1; }
  std::int64_t n_outputs() const { return n_classes > 0 ? n_classes : 1; }
  std::int64_t n_nodes() const { return static_cast<std::int64_t>(feature.size()); }
};

// For each row: outputs summed over the trees that did not draw it, and how many these are. Host.
struct OutOfBag {
  std::vector<double> sums;   // rows x n_outputs
  std::vector<std::int32_t> n_trees;
};

// Called with (done, total) trees, from the thread that grows the forest.
using TreeProgress = std::function<void(std::int64_t, std::int64_t)>;

// A forest where its device reads it, for any number of predictions: mean outputs over the trees, in double; out
// (device, n x n_outputs). Over bytes, or over values.
class ReadyForest {
 public:
  virtual ~ReadyForest() = default;
  virtual void predict(const BinnedTable& table, VectorView<const std::int32_t> rows, MatrixView<double> out) const = 0;
  virtual void predict(MatrixView<const float> X, MatrixView<double> out) const = 0;
  virtual void predict(MatrixView<const double> X, MatrixView<double> out) const = 0;
};

// Integer sums and arithmetic in a fixed order: the same seed gives the same forest, bit for bit, on every device and at any
// number of threads.
class TreeOps {
 public:
  virtual ~TreeOps() = default;

  // Bins every column of X: exactly up to 256 distinct values, otherwise by 256 quantiles. Errors: kBadData on NaN.
  virtual BinnedTable bin(MatrixView<const float> X) = 0;
  virtual BinnedTable bin(MatrixView<const double> X) = 0;

  // Grows a forest on the given rows (device; empty: all rows of the table). Stops with Error{kCancelled} within a second of a
  // stop request. Errors: kBadData without rows or columns.
  virtual Forest grow(const BinnedTable& table, VectorView<const std::int32_t> rows, const TreeTarget& target,
                      const ForestOptions& options, std::stop_token stop, const TreeProgress& progress) = 0;
  // The same on all rows of X (device) without bins: every cut between two values is looked at. O(columns * rows) for each level
  // of a tree after a sort of the columns. The forest's `bin` is meaningless. Errors: as grow(); kBadData on NaN.
  virtual Forest grow_exact(MatrixView<const float> X, const TreeTarget& target, const ForestOptions& options,
                            std::stop_token stop) = 0;
  virtual Forest grow_exact(MatrixView<const double> X, const TreeTarget& target, const ForestOptions& options,
                            std::stop_token stop) = 0;

  // `options` and `rows` are those that the forest was grown with.
  virtual OutOfBag out_of_bag(const Forest& forest, const BinnedTable& table, VectorView<const std::int32_t> rows,
                              const ForestOptions& options) = 0;

  // Copies the forest to the device, once; it lies there until the result is destroyed. Borrows the forest and the
  // device.
  virtual std::unique_ptr<ReadyForest> prepare(const Forest& forest) = 0;
};

}   // namespace kedge::engine
