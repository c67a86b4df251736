// Imported trees as contributions read them, and where rows go at their nodes.
#include <cmath>

#include "engine/backend/host/tree_shap.h"
#include "engine/imported/tree_ensemble.h"

namespace kedge::engine {
namespace {

ShapTrees shap_trees(const TreeEnsemble& e) {
  ShapTrees trees{.n_cols = e.n_cols,
                  .n_outputs = e.n_outputs,
                  .tree_offset = e.tree_offset,
                  .tree_output = e.tree_output,
                  .feature = e.feature,
                  .left = e.left,
                  .right = e.left,
                  .cover = e.cover,
                  .value = e.threshold,
                  .scale = 1 / e.divisor,
                  .base = e.base};
  for (double& base : trees.base) base /= e.divisor;
  for (std::size_t t = 0; t + 1 < e.tree_offset.size(); ++t) {
    const auto begin = static_cast<std::int32_t>(e.tree_offset[t]);
    for (std::int64_t i = e.tree_offset[t]; i < e.tree_offset[t + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      trees.left[at] += begin, trees.right[at] += begin + 1;
    }
  }
  return trees;
}

// Whether a row goes left at a cut that says more than a threshold.
bool goes_left(const TreeEnsemble& e, std::size_t node, double value) {
  const std::uint8_t flags = e.flags[node];
  const bool is_missing_left = (flags & node_flag::kMissingLeft) != 0;
  if (flags & node_flag::kCategory) return std::isnan(value) ? is_missing_left : is_in_set(e, e.set[node], value);
  if (flags & node_flag::kZeroIsMissing) {
    if (std::isnan(value) || std::abs(value) <= kZeroRange) return is_missing_left;
  } else if (std::isnan(value)) {
    if (!(flags & node_flag::kMissingIsZero)) return is_missing_left;
    value = 0;
  }
  return e.is_strict ? value < e.threshold[node] : value <= e.threshold[node];
}

// Of the rows of a block, whose cells in the column of the cut are x.
void set_directions(const TreeEnsemble& e, std::size_t node, const double* x, std::uint8_t* left) {
  const double cut = e.threshold[node];
  if (e.flags[node] & (node_flag::kCategory | node_flag::kZeroIsMissing | node_flag::kMissingIsZero)) {
    for (std::int64_t l = 0; l < kShapLanes; ++l) left[l] = goes_left(e, node, x[l]) ? 1 : 0;
    return;
  }
  const std::uint8_t of_missing = e.flags[node] & node_flag::kMissingLeft;
  if (e.is_strict)
    for (std::int64_t l = 0; l < kShapLanes; ++l) left[l] = (x[l] < cut ? 1 : 0) | (x[l] != x[l] ? of_missing : 0);
  else
    for (std::int64_t l = 0; l < kShapLanes; ++l) left[l] = (x[l] <= cut ? 1 : 0) | (x[l] != x[l] ? of_missing : 0);
}

// As the trees compare them.
std::vector<double> compared(const TreeEnsemble& e, std::span<const double> cells) {
  std::vector<double> values(cells.begin(), cells.end());
  if (e.is_float32)
    for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  return values;
}

}   // namespace

std::vector<double> ensemble_contributions(const TreeEnsemble& ensemble, std::span<const double> rows,
                                           std::span<const double> background, std::int64_t n_rows, bool among_pairs) {
  const AskedCells asked{.n_rows = n_rows,
                         .rows = compared(ensemble, rows),
                         .n_background = std::ssize(background) / ensemble.n_cols,
                         .background = compared(ensemble, background),
                         .among_pairs = among_pairs};
  return tree_contributions(shap_trees(ensemble), asked, [&](const ShapCells& cells) -> ShapDirections {
    return [&](std::int64_t block, std::int64_t begin, std::int64_t end, std::uint8_t* goes_left) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto node = static_cast<std::size_t>(i);
        if (ensemble.feature[node] >= 0)
          set_directions(ensemble, node, cells.column(block, ensemble.feature[node]),
                         goes_left + (i - begin) * kShapLanes);
      }
    };
  });
}

}   // namespace kedge::engine
