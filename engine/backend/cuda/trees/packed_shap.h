// Trees as the device walks them for contributions: the nodes of engine/backend/host/tree_shap_trees.h, in the same
// order, each with what its parent asks.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/cut_rule.h"
#include "engine/backend/ops/tree_shap.h"
#include "engine/core/array.h"

namespace kedge::engine {

// A node behind the root. Parents count from the first of the tree's steps; -1: the root.
struct alignas(8) ShapStep {
  double share, before_share;   // as shap::Node
  double threshold;             // of the cut above, as set, flags and column
  std::int32_t set, column;
  std::int32_t parent, leaf;   // leaf: its row of values; -1: a cut
  std::int32_t depth, before_depth;
  std::int32_t slot;   // of the column among those of the tree
  std::uint8_t flags;
  bool is_left;
};

// A tree with cuts. A part is a sum of a row by one column and one value of the tree's leaves.
struct ShapTree {
  std::int64_t first, parts;       // of the steps; of the parts of its piece
  std::int64_t rule;               // of its points, rests and weights, n_points each
  std::int32_t n_steps, n_slots;   // slot s has the parts s * leaf_values and on
  std::int32_t n_points, n_levels;
};

// Trees one after the other whose parts lie in memory together.
struct ShapPiece {
  std::int64_t first = 0, last = 0;   // trees
  std::int64_t n_parts = 0;
  std::int64_t scratch = 0;   // numbers that a warp keeps of a path, at most
  std::int64_t columns = 0;   // where PackedShap::part_begin() of the piece begins
};

// What the walk reads.
struct ShapView {
  const ShapStep* steps;
  const ShapTree* trees;
  const double *rules, *values;   // values: leaf_values a row
  CutSets sets;
  bool is_strict;
  std::int32_t leaf_values;
};

// What adds the parts of trees up reads. The parts of a column: part[begin[c]] .. in the order of the trees; where a
// leaf has one value, of column c and output k: those at k * n_cols + c.
struct ShapColumns {
  const std::int64_t *begin, *part;
  const double* expected;   // by output
  std::int64_t n_cols;
  std::int32_t n_outputs;
  bool by_output;
  double scale;
};

class PackedShap {
 public:
  // O(nodes * depth) on several threads; waits for the upload. Errors: as TreeShapOps::prepare_shap().
  PackedShap(CudaRuntime& runtime, const ShapTrees& trees);

  ShapView view() const;
  ShapColumns columns(const ShapPiece& piece) const;
  const std::vector<ShapPiece>& pieces() const { return pieces_; }   // at least one
  std::int64_t n_cols() const { return n_cols_; }
  std::int32_t n_outputs() const { return n_outputs_; }
  std::int64_t most_parts() const;   // of a piece

 private:
  std::int64_t n_cols_;
  std::int32_t n_outputs_, leaf_values_;
  bool by_output_, is_strict_, is_float32_;
  double scale_;
  std::vector<ShapPiece> pieces_;
  Array<ShapStep> steps_;
  Array<ShapTree> trees_;
  Array<double> rules_, values_, expected_;
  Array<std::int64_t> set_offset_, part_begin_, part_;
  Array<std::uint32_t> set_words_;
};

}   // namespace kedge::engine
