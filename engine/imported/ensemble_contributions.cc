// Imported trees as contributions read them.
#include "engine/imported/ensemble_contributions.h"

namespace kedge::engine {
namespace {

static_assert(node_flag::kMissingLeft == walk_flag::kMissingLeft && node_flag::kCategory == walk_flag::kCategory &&
              node_flag::kZeroIsMissing == walk_flag::kZeroIsMissing &&
              node_flag::kMissingIsZero == walk_flag::kMissingIsZero && node_flag::kEqual == walk_flag::kEqual &&
              kZeroRange == kWalkZeroRange);

// As the trees compare them.
std::vector<double> compared(const TreeEnsemble& e, std::span<const double> cells) {
  std::vector<double> values(cells.begin(), cells.end());
  if (e.is_float32)
    for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  return values;
}

}   // namespace

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
                  .base = e.base,
                  .cuts = {.is_strict = e.is_strict,
                           .is_float32 = e.is_float32,
                           .threshold = e.threshold,
                           .flags = e.flags,
                           .set = e.set,
                           .set_offset = e.set_offset,
                           .set_words = e.set_words}};
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

std::vector<double> ensemble_contributions(const TreeEnsemble& ensemble, std::span<const double> rows,
                                           std::span<const double> background, std::int64_t n_rows, bool among_pairs) {
  return tree_contributions(shap_trees(ensemble), {.n_rows = n_rows,
                                                   .rows = compared(ensemble, rows),
                                                   .n_background = std::ssize(background) / ensemble.n_cols,
                                                   .background = compared(ensemble, background),
                                                   .among_pairs = among_pairs});
}

}   // namespace kedge::engine
