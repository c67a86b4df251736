// Contributions of columns to the answers of trees, counted by a device itself.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backend/ops/tree_walk.h"

namespace kedge::engine {

// How the nodes of trees ask; cut_rule.h says what it means. By node: thresholds of cuts; flags (walk_flag), where
// empty none; the set of kCategory. Cells, thresholds and sets are as in WalkTrees.
struct ShapCuts {
  bool is_strict = false;    // values below the threshold go left; otherwise those up to it
  bool is_float32 = false;   // how sets read their cells
  std::vector<double> threshold = {};
  std::vector<std::uint8_t> flags = {};
  std::vector<std::int32_t> set = {};
  std::vector<std::int64_t> set_offset = {};   // by set: its words
  std::vector<std::uint32_t> set_words = {};   // category_set.h
};

// Trees as contributions read them, in any order of nodes; the first node of each is its root. A value.
struct ShapTrees {
  std::int64_t n_cols = 0;
  std::int32_t n_outputs = 1;
  std::vector<std::int64_t> tree_offset{0};   // n_trees + 1
  // By tree: to which output its leaves add, one value each. Empty: a leaf has a value for each output.
  std::vector<std::int32_t> tree_output = {};
  std::vector<std::int32_t> feature = {};            // -1 for a leaf
  std::vector<std::int32_t> left = {}, right = {};   // absolute
  std::vector<double> cover = {};                    // of the node: rows of the fit, or their weights
  std::vector<double> value = {};                    // of a leaf: n_nodes x values a leaf
  double scale = 1;                                  // of all values
  std::vector<double> base = {};                     // n_outputs: what is added to them; empty: nothing
  ShapCuts cuts = {};

  std::int64_t n_trees() const { return static_cast<std::int64_t>(tree_offset.size()) - 1; }
  std::int32_t leaf_values() const { return tree_output.empty() ? n_outputs : 1; }
};

// Trees where their device reads them, in the order of their walks, for any number of questions.
class ReadyShap {
 public:
  virtual ~ReadyShap() = default;
  // Path-dependent contributions of the rows of X (device, row-major, padding allowed): out (device) is rows x
  // (n_outputs x (n_cols + 1)), in the units of the leaves, the last of each output the expected answer. NaN is a
  // missing cell; keys say which columns hold categories by other numbers. The bits of tree_contributions() in
  // engine/backend/host/tree_shap.h, whose order of operations it has: a row's do not depend on the rows beside it.
  // O(rows * nodes * columns on a path / 2). Errors: those of the device.
  virtual void contributions(MatrixView<const float> X, const CellKeys& keys, MatrixView<double> out) const = 0;
  virtual void contributions(MatrixView<const double> X, const CellKeys& keys, MatrixView<double> out) const = 0;
  // n_outputs x (n_cols + 1).
  virtual std::int64_t numbers_a_row() const = 0;
};

// Beside the TreeOps of a device that has memory of its own. Thread safety: one caller at a time. Sources: Lundberg,
// Erion, Lee, "Consistent individualized feature attribution for tree ensembles", 2018; Yu, Bifet, Read, Xu, "Linear
// TreeShap", NeurIPS 2022; that rows times trees are what fills a GPU: Mitchell, Frank, Holmes, "GPUTreeShap", 2022.
class TreeShapOps {
 public:
  virtual ~TreeShapOps() = default;
  // Copies the trees to the device, once. Borrows the device, not the trees. O(nodes * depth) on the host's threads.
  // Errors: kModelCorrupt for a node with two parents; kInvalidValue for a tree of more than 1,024 levels.
  virtual std::unique_ptr<ReadyShap> prepare_shap(const ShapTrees& trees) = 0;
};

// Null where contributions are counted in the host's memory by engine/backend/host/tree_shap.h.
inline TreeShapOps* tree_shap_ops(TreeOps& trees) {
  return dynamic_cast<TreeShapOps*>(&trees);
}

}   // namespace kedge::engine
