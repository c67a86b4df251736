// Imported trees on devices: see ensemble_sums.h.
#include "engine/model/ensemble_sums.h"

#include "engine/imported/ensemble_contributions.h"

namespace kedge::engine {
namespace {

WalkTrees walk_trees(const TreeEnsemble& e) {
  return {.is_float32 = e.is_float32,
          .is_strict = e.is_strict,
          .n_cols = e.n_cols,
          .n_outputs = e.n_outputs,
          .tree_offset = e.tree_offset,
          .tree_output = e.tree_output,
          .feature = e.feature,
          .threshold = e.threshold,
          .left = e.left,
          .flags = e.flags,
          .set = e.set,
          .set_offset = e.set_offset,
          .set_words = e.set_words,
          .base = e.base,
          .divisor = e.divisor};
}

// A tree for each output, whose leaves have the numbers of their rows: sums take them in the same order.
TreeEnsemble by_outputs(const LeafyTrees& leafy) {
  const TreeEnsemble& e = leafy.trees;
  TreeEnsemble made = e;
  for (auto* const of_nodes : {&made.feature, &made.left, &made.set}) of_nodes->clear();
  made.tree_offset = {0}, made.tree_output.clear(), made.threshold.clear(), made.flags.clear(), made.cover.clear();
  const auto append = [](auto& to, const auto& from, std::int64_t begin, std::int64_t end) {
    to.insert(to.end(), from.begin() + begin, from.begin() + end);
  };
  for (std::int64_t t = 0; t < e.n_trees(); ++t)
    for (std::int32_t k = 0; k < e.n_outputs; ++k) {
      const std::int64_t begin = e.tree_offset[t], end = e.tree_offset[t + 1];
      append(made.feature, e.feature, begin, end), append(made.left, e.left, begin, end);
      append(made.set, e.set, begin, end), append(made.flags, e.flags, begin, end);
      for (std::int64_t i = begin; i < end; ++i)
        made.threshold.push_back(e.feature[i] >= 0
                                     ? e.threshold[i]
                                     : leafy.leaf_values[static_cast<std::size_t>(e.threshold[i]) * e.n_outputs + k]);
      made.tree_offset.push_back(made.n_nodes()), made.tree_output.push_back(k);
    }
  return made;
}

// With the trees that it is of.
struct OwnedSums {
  TreeEnsemble trees;
  EnsembleSums sums;
  OwnedSums(const Context& ctx, const LeafyTrees& leafy)
      : trees(leafy.leaf_values.empty() ? leafy.trees : by_outputs(leafy)), sums(ctx, trees) {}
};

}   // namespace

TreeSums device_tree_sums(const Context& ctx, const CellProgram& program) {
  if (!tree_walk_ops(ctx.device.trees())) return {};
  std::vector<std::shared_ptr<const OwnedSums>> all;   // shared, since a std::function is copied
  for (const LeafyTrees& leafy : program.ensembles) all.push_back(std::make_shared<const OwnedSums>(ctx, leafy));
  return [all](std::size_t ensemble, std::span<const double> cells, std::int64_t n_rows) {
    return all[ensemble]->sums.margins(cells, n_rows);
  };
}

EnsembleSums::EnsembleSums(const Context& ctx, const TreeEnsemble& trees)
    : trees_(trees), device_(ctx.device), memory_(ctx.memory()) {
  if (TreeWalkOps* const ops = tree_walk_ops(ctx.device.trees()))
    ready_ = ops->prepare_walk(walk_trees(trees), trees.is_float32 ? WalkCells::kFloat32 : WalkCells::kFloat64);
  else walk_.emplace(trees);
}

template <class T>
std::vector<double> EnsembleSums::device_sums(std::span<const double> rows, std::int64_t n_rows) const {
  const std::vector<T> cells(rows.begin(), rows.end());
  const Matrix<T> X(memory_, n_rows, trees_.n_cols, cells);
  Matrix<double> sums(memory_, trees_.n_outputs, n_rows);
  ready_->sums(X.view(), {}, sums.view());
  std::vector<double> by_output = sums.to_host();
  if (trees_.n_outputs == 1) return by_output;
  std::vector<double> by_row(by_output.size());
  for (std::int64_t i = 0; i < n_rows; ++i)
    for (std::int32_t k = 0; k < trees_.n_outputs; ++k) by_row[i * trees_.n_outputs + k] = by_output[k * n_rows + i];
  return by_row;
}

std::vector<double> EnsembleSums::margins(std::span<const double> rows, std::int64_t n_rows) const {
  if (walk_) return walk_->margins(rows, n_rows);
  return trees_.is_float32 ? device_sums<float>(rows, n_rows) : device_sums<double>(rows, n_rows);
}

template <class T>
std::vector<double> EnsembleSums::device_contributions(std::span<const double> rows, std::int64_t n_rows) const {
  const std::vector<T> cells(rows.begin(), rows.end());
  const Matrix<T> X(memory_, n_rows, trees_.n_cols, cells);
  Matrix<double> parts(memory_, n_rows, shap_->numbers_a_row());
  shap_->contributions(X.view(), {}, parts.view());
  return parts.to_host();
}

std::vector<double> EnsembleSums::contributions(std::span<const double> rows, std::span<const double> background,
                                                std::int64_t n_rows, bool among_pairs) const {
  TreeShapOps* const ops = tree_shap_ops(device_.trees());
  if (!ops || !background.empty() || among_pairs || n_rows == 0)
    return ensemble_contributions(trees_, rows, background, n_rows, among_pairs);
  if (!shap_) shap_ = ops->prepare_shap(shap_trees(trees_));
  return trees_.is_float32 ? device_contributions<float>(rows, n_rows) : device_contributions<double>(rows, n_rows);
}

}   // namespace kedge::engine
