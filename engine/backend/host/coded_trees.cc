// Packs trees: see coded_trees.h.
#include "engine/backend/host/coded_trees.h"

#include <bit>
#include <limits>

namespace kedge::engine {
namespace {

constexpr std::size_t kMostCuts = 0xfffe;   // of a column: codes stay below that of a missing value
constexpr std::int64_t kMostColumns = 0xffff;

}   // namespace

// False: a column has too many.
bool CodedTrees::set_cuts(const TreesView& trees) {
  std::vector<std::vector<double>> cuts(static_cast<std::size_t>(n_cols_));
  for (std::size_t i = 0; i < trees.feature.size(); ++i)
    if (trees.feature[i] >= 0) cuts[static_cast<std::size_t>(trees.feature[i])].push_back(trees.threshold[i]);
  cut_offset_.push_back(0);
  for (std::vector<double>& of : cuts) {
    std::ranges::sort(of);
    of.erase(std::unique(of.begin(), of.end()), of.end());
    if (of.size() > kMostCuts) return false;
    const std::size_t full = std::bit_ceil(of.size() + 1) - 1;
    cuts_.insert(cuts_.end(), of.begin(), of.end());
    cuts_.insert(cuts_.end(), full - of.size(), std::numeric_limits<double>::infinity());
    cut_offset_.push_back(static_cast<std::int64_t>(cuts_.size()));
    of = {};
  }
  return true;
}

// Breadth-first, so that the first levels, which all rows pass, lie together. False: a node has two parents.
bool CodedTrees::place_nodes(const TreesView& trees, std::int64_t tree, const std::vector<std::uint32_t>& numbers) {
  std::vector<std::int64_t> order{trees.tree_offset[tree]};
  const auto begin = static_cast<std::uint32_t>(nodes_.size());
  const auto n = static_cast<std::size_t>(trees.tree_offset[tree + 1] - trees.tree_offset[tree]);
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::int64_t node = order[at];
    const std::int32_t column = trees.feature[node];
    if (column < 0) {
      const std::uint32_t number = numbers[static_cast<std::size_t>(node)];
      nodes_.push_back({begin + static_cast<std::uint32_t>(at), static_cast<std::uint16_t>(n_cols_),
                        static_cast<Code>(std::min(number, kElsewhere))});
      if (!numbers_.empty()) numbers_[begin + at] = number;
      continue;
    }
    const auto cut = code_of(column, trees.threshold[node]);   // its own place
    nodes_.push_back({begin + static_cast<std::uint32_t>(order.size()), static_cast<std::uint16_t>(column), cut});
    if (!missing_left_.empty()) missing_left_[begin + at] = trees.missing_left[node];
    order.push_back(trees.left[node]);
    order.push_back(trees.right.empty() ? trees.left[node] + 1 : trees.right[node]);
    if (order.size() > n) return false;
  }
  offset_.push_back(static_cast<std::int64_t>(nodes_.size()));
  return true;
}

std::unique_ptr<const CodedTrees> CodedTrees::pack_numbered(const TreesView& trees,
                                                            const std::vector<std::uint32_t>& numbers) {
  if (trees.n_cols >= kMostColumns || trees.feature.size() > std::numeric_limits<std::int32_t>::max()) return nullptr;
  auto packed = std::make_unique<CodedTrees>();
  packed->n_cols_ = trees.n_cols;
  if (!packed->set_cuts(trees)) return nullptr;
  packed->nodes_.reserve(trees.feature.size());
  if (std::ranges::any_of(numbers, [](std::uint32_t number) { return number >= kElsewhere; }))
    packed->numbers_.resize(numbers.size());
  if (std::ranges::any_of(trees.missing_left, [](std::uint8_t left) { return left != 0; }))
    packed->missing_left_.resize(numbers.size());
  for (std::int64_t tree = 0; tree + 1 < std::ssize(trees.tree_offset); ++tree)
    if (!packed->place_nodes(trees, tree, numbers)) return nullptr;
  return packed;
}

}   // namespace kedge::engine
