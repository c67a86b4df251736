// Trees whose answer is a sum of leaves, of boosting and of other programs, walked by a device itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// What a node says beside its cut. A missing value is NaN. The same bits as node_flag of engine/imported.
namespace walk_flag {
inline constexpr std::uint8_t kMissingLeft = 1;     // where a missing value goes
inline constexpr std::uint8_t kCategory = 2;        // the categories of a set go left, all others right
inline constexpr std::uint8_t kZeroIsMissing = 4;   // values within kWalkZeroRange go where missing values go
inline constexpr std::uint8_t kMissingIsZero = 8;   // NaN is compared as 0
inline constexpr std::uint8_t kEqual = 16;          // equal values go left, not those below
}   // namespace walk_flag
inline constexpr double kWalkZeroRange = 1e-35f;

// Trees one after the other, on the host, borrowed. Children count from the root of their tree; the right one is behind
// the left one. Whoever made it has checked that every index is in range and every walk ends.
struct WalkTrees {
  bool is_float32 = false;   // cuts, leaves and sums are floats; otherwise doubles
  bool is_strict = false;    // values below the threshold go left; otherwise those up to it
  std::int64_t n_cols = 0;
  std::int32_t n_outputs = 1;
  std::span<const std::int64_t> tree_offset;   // n_trees + 1
  std::span<const std::int32_t> tree_output;   // by tree: to which sum it is added
  std::span<const std::int32_t> feature;       // -1: a leaf
  std::span<const double> threshold;           // of a leaf its value
  std::span<const std::int32_t> left;
  std::span<const std::uint8_t> flags;        // walk_flag
  std::span<const std::int32_t> set;          // of kCategory
  std::span<const std::int64_t> set_offset;   // by set: its words
  std::span<const std::uint32_t> set_words;   // category_set.h
  std::span<const double> base;               // n_outputs: where the sums begin
  double divisor = 1;                         // of the sums
};

// Columns of categories whose cells are not the categories' numbers: a cell that equals a key, which ascend in a
// column, is read as its code, any other as missing. Host.
struct CellKeys {
  std::vector<std::int32_t> offset;   // n_cols + 1; a column without keys stays as it is. Empty: all do
  std::vector<double> keys, codes;
};

// Trees where their device reads them, for any number of questions.
class ReadyWalk {
 public:
  virtual ~ReadyWalk() = default;
  // Sums for the rows of X (device), n_outputs x rows (device), output by output: base, then the leaves in the order of
  // the trees, divided; the bits of the CPU's walk. O(rows * trees * depth). Errors: kInternal for rows of another type
  // than the trees were prepared for.
  virtual void sums(MatrixView<const float> X, const CellKeys& keys, MatrixView<double> out) const = 0;
  virtual void sums(MatrixView<const double> X, const CellKeys& keys, MatrixView<double> out) const = 0;
};

enum class WalkCells { kFloat32, kFloat64 };

// Beside the TreeOps of a device that has memory of its own. Thread safety: one caller at a time.
class TreeWalkOps {
 public:
  virtual ~TreeWalkOps() = default;
  // Copies the trees to the device, once, for rows of one type: trees of floats take rows of floats alone. Borrows the
  // device, not the trees. O(nodes). Errors: kInvalidValue for more columns than a node can name.
  virtual std::unique_ptr<ReadyWalk> prepare_walk(const WalkTrees& trees, WalkCells cells) = 0;
};

// Null where trees are walked in the host's memory by its own code.
inline TreeWalkOps* tree_walk_ops(TreeOps& trees) {
  return dynamic_cast<TreeWalkOps*>(&trees);
}

}   // namespace kedge::engine
