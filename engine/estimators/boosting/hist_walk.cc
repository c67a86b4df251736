// Hands the trees of histogram gradient boosting, and what their categories are called, to a device's own walk.
#include "engine/estimators/boosting/hist_walk.h"

#include <algorithm>
#include <limits>

namespace kedge::engine {
namespace {

// By bytes, bit c % 8 of byte c / 8; then by words.
std::vector<std::uint32_t> words_of(const std::vector<std::uint8_t>& sets) {
  std::vector<std::uint32_t> words(sets.size() / 4);
  for (std::size_t i = 0; i < sets.size(); ++i) words[i / 4] |= std::uint32_t{sets[i]} << 8 * (i % 4);
  return words;
}

std::vector<std::int64_t> set_offsets(const std::vector<std::uint32_t>& words) {
  constexpr std::int64_t kSetWords = 8;
  std::vector<std::int64_t> offset;
  for (std::int64_t at = 0; at <= std::ssize(words); at += kSetWords) offset.push_back(at);
  return offset;
}

std::vector<std::int32_t> outputs_of_trees(const BoostForest& forest) {
  std::vector<std::int32_t> outputs;
  for (std::int64_t t = 0; t < forest.n_trees(); ++t)
    outputs.push_back(static_cast<std::int32_t>(t % forest.n_outputs));
  return outputs;
}

// walk_flag, by node.
std::vector<std::uint8_t> flags_of(const BoostForest& forest) {
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(forest.n_nodes()), 0);
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (forest.feature[i] >= 0)
      flags[i] = static_cast<std::uint8_t>((forest.missing_left[i] ? walk_flag::kMissingLeft : 0) |
                                           (forest.set[i] >= 0 ? walk_flag::kCategory : 0));
  return flags;
}

// Keys of a nominal column: the table's codes of those names that the fit has met.
void append_names(const std::vector<std::string>& own, const std::vector<std::string>& fitted, CellKeys& keys) {
  for (std::size_t c = 0; c < own.size(); ++c) {
    const auto at = std::ranges::lower_bound(fitted, own[c]);
    if (at == fitted.end() || *at != own[c]) continue;
    keys.keys.push_back(static_cast<double>(c));
    keys.codes.push_back(static_cast<double>(at - fitted.begin()));
  }
  if (std::ssize(keys.keys) > keys.offset.back()) return;
  keys.keys.push_back(-1), keys.codes.push_back(0);   // none is known: what no cell has, so that all count as missing
}

}   // namespace

std::unique_ptr<const ReadyWalk> ready_walk(TreeWalkOps& ops, const BoostForest& forest,
                                            std::span<const double> baseline, WalkCells cells) {
  const auto n_nodes = static_cast<std::size_t>(forest.n_nodes());
  std::vector<std::int32_t> left(n_nodes, 0);
  std::vector<double> threshold(n_nodes);
  for (std::int64_t t = 0; t < forest.n_trees(); ++t) {
    const std::int64_t begin = forest.tree_offset[static_cast<std::size_t>(t)];
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(forest.tree_offset[t + 1]); ++i) {
      threshold[i] = forest.feature[i] < 0 ? forest.value[i] : forest.threshold[i];
      if (forest.feature[i] >= 0) left[i] = static_cast<std::int32_t>(forest.left[i] - begin);
    }
  }
  const std::vector<std::int32_t> tree_output = outputs_of_trees(forest);
  const std::vector<std::uint8_t> flags = flags_of(forest);
  const std::vector<std::uint32_t> words = words_of(forest.sets);
  const std::vector<std::int64_t> set_offset = set_offsets(words);
  return ops.prepare_walk({.n_cols = forest.n_cols,
                           .n_outputs = forest.n_outputs,
                           .tree_offset = forest.tree_offset,
                           .tree_output = tree_output,
                           .feature = forest.feature,
                           .threshold = threshold,
                           .left = left,
                           .flags = flags,
                           .set = forest.set,
                           .set_offset = set_offset,
                           .set_words = words,
                           .base = baseline},
                          cells);
}

ShapTrees shap_trees(const BoostForest& forest, const std::vector<double>& baseline) {
  ShapTrees trees{.n_cols = forest.n_cols,
                  .n_outputs = forest.n_outputs,
                  .tree_offset = forest.tree_offset,
                  .tree_output = outputs_of_trees(forest),
                  .feature = forest.feature,
                  .left = forest.left,
                  .cover = {forest.n_rows.begin(), forest.n_rows.end()},
                  .value = forest.value,
                  .base = baseline,
                  .cuts = {.threshold = forest.threshold,
                           .flags = flags_of(forest),
                           .set = forest.set,
                           .set_words = words_of(forest.sets)}};
  for (const std::int32_t left : trees.left) trees.right.push_back(left + 1);
  trees.cuts.set_offset = set_offsets(trees.cuts.set_words);
  return trees;
}

template <class T>
CellKeys category_keys(const Samples<T>& X, const HistCategories& fitted, const BoostForest& forest) {
  CellKeys keys;
  if (forest.categories.empty()) return keys;
  keys.offset.push_back(0);
  for (std::int64_t j = 0; j < forest.n_cols; ++j) {
    const auto at = static_cast<std::size_t>(j);
    if (fitted.is_nominal(j)) {
      append_names(X.table->features[at].categories, fitted.names[at], keys);
    } else {
      for (std::int32_t c = forest.category_offset[at]; c < forest.category_offset[at + 1]; ++c) {
        keys.keys.push_back(forest.categories[static_cast<std::size_t>(c)]);
        keys.codes.push_back(static_cast<double>(c - forest.category_offset[at]));
      }
    }
    keys.offset.push_back(static_cast<std::int32_t>(keys.keys.size()));
  }
  return keys;
}

void read_codes(const CellKeys& keys, std::int64_t n_cols, std::vector<double>& cells) {
  for (std::int64_t j = 0; !keys.offset.empty() && j < n_cols; ++j) {
    const auto begin = keys.keys.begin() + keys.offset[static_cast<std::size_t>(j)],
               end = keys.keys.begin() + keys.offset[static_cast<std::size_t>(j) + 1];
    for (auto i = static_cast<std::size_t>(j); begin < end && i < cells.size(); i += static_cast<std::size_t>(n_cols)) {
      const auto found = std::lower_bound(begin, end, cells[i]);
      cells[i] = found != end && *found == cells[i] ? keys.codes[static_cast<std::size_t>(found - keys.keys.begin())]
                                                    : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

template CellKeys category_keys(const Samples<float>&, const HistCategories&, const BoostForest&);
template CellKeys category_keys(const Samples<double>&, const HistCategories&, const BoostForest&);

}   // namespace kedge::engine
