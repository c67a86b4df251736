// Draft trees: node bookkeeping, cuts and the canonical node order.
#include "engine/backend/host/tree_draft.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/backend/host/huge_pages.h"
#include "engine/backend/host/parallel_tasks.h"
#include "engine/backend/host/philox_run.h"
#include "engine/core/require.h"

namespace kedge::engine {

SideSum TreeRules::sum(std::span<const std::int32_t> counts) const {
  SideSum total;
  for (std::size_t c = 0; c < counts.size(); ++c)
    if (counts[c] != 0) total.add(class_weight.empty() ? counts[c] : class_weight[c] * counts[c], entropy);
  return total;
}

std::int32_t ClassDraft::add(const std::int32_t* node_counts, std::int32_t depth, std::uint64_t key, const TreeRules& rules) {
  const SideSum sum = rules.sum({node_counts, static_cast<std::size_t>(n_classes)});
  counts.insert(counts.end(), node_counts, node_counts + n_classes);
  nodes.push_back({.depth = depth, .impurity = node_impurity(sum, rules.entropy), .weight = sum.weight, .key = key});
  return static_cast<std::int32_t>(nodes.size()) - 1;
}

bool DraftTree::accept_split(std::int32_t node, double min_impurity_decrease) {
  DraftNode& parent = nodes[node];
  const DraftNode &left = nodes[parent.left], &right = nodes[parent.right];
  parent.improvement = split_improvement(nodes[0].weight, {parent.weight, parent.impurity},
                                         {left.weight, left.impurity}, {right.weight, right.impurity});
  return parent.improvement + kPureImpurity >= min_impurity_decrease;
}

void ClassDraft::append_value(std::int32_t node, const TreeRules& rules, Forest& out) const {
  const double weight = nodes[node].weight;
  const auto node_counts = counts_of(node);
  out.value.resize(out.value.size() + node_counts.size());
  double* const share = out.value.data() + (out.value.size() - node_counts.size());
  for (std::int32_t c = 0; c < n_classes; ++c)
    share[c] = node_counts[c] != 0 && weight > 0 ? rules.weight_of(c) * node_counts[c] / weight : 0.0;
}

Cut choose_cut(const BinEdges& edges, std::int64_t feature, int left_bin, int right_bin) {
  return choose_cut(edges.low.data() + edges.offset[feature], edges.high.data() + edges.offset[feature], left_bin,
                    right_bin);
}

double random_threshold(const BinEdges& edges, std::int64_t feature, int left_bin, int right_bin, double drawn) {
  return random_threshold(edges.high[edges.offset[feature] + left_bin], edges.low[edges.offset[feature] + right_bin],
                          drawn);
}

namespace {

void reserve_nodes(Forest& forest, std::size_t nodes) {
  forest.feature.reserve(nodes), forest.bin.reserve(nodes), forest.threshold.reserve(nodes);
  forest.left.reserve(nodes), forest.right.reserve(nodes);
  forest.value.reserve(nodes * static_cast<std::size_t>(forest.n_classes));
  if (forest.n_classes == 0) forest.mean.reserve(nodes);
  forest.impurity.reserve(nodes), forest.weight.reserve(nodes), forest.n_rows.reserve(nodes);
}

void append_leaf(const DraftNode& node, Forest& out) {
  out.feature.push_back(-1), out.bin.push_back(0), out.threshold.push_back(0);
  out.left.push_back(-1), out.right.push_back(-1);
  out.impurity.push_back(node.impurity), out.weight.push_back(node.weight), out.n_rows.push_back(node.n_rows);
}

// The cuts of all expanded nodes. The edges of all columns are too many for a cache, so they are fetched ahead of their use.
std::vector<Cut> choose_cuts(const DraftTree& tree, const BinEdges& edges) {
  constexpr std::size_t kAhead = 16;
  std::vector<Cut> cuts(tree.nodes.size());
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const DraftNode& ahead = tree.nodes[std::min(i + kAhead, cuts.size() - 1)];
    if (ahead.expanded) {
      __builtin_prefetch(edges.high.data() + edges.offset[ahead.feature] + ahead.left_bin);
      __builtin_prefetch(edges.low.data() + edges.offset[ahead.feature] + ahead.left_bin + 1);
      __builtin_prefetch(edges.low.data() + edges.offset[ahead.feature] + ahead.right_bin);
    }
    const DraftNode& node = tree.nodes[i];
    if (!node.expanded) continue;
    cuts[i] = std::isnan(node.threshold) ? choose_cut(edges, node.feature, node.left_bin, node.right_bin) : Cut{node.left_bin, node.threshold};
  }
  return cuts;
}

// Position of the row that a draw takes, in proportion to the weights whose running sums these are.
std::size_t weighted_pick(const std::uint32_t* words, const std::vector<double>& sums) {
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32) | words[1];
  const double at = static_cast<double>(bits >> 11) * 0x1.0p-53 * sums.back();
  const auto found = std::upper_bound(sums.begin(), sums.end(), at);
  return static_cast<std::size_t>(std::min(found, sums.end() - 1) - sums.begin());
}

void draw_rows_by_tree(const ForestOptions& options, std::int64_t tree, std::int64_t n,
                       std::vector<std::uint32_t>& counts) {
  const std::int64_t draws = options.n_draws > 0 ? options.n_draws : n;
  const std::uint64_t stream = bootstrap_stream(tree);
  std::vector<double> sums;   // of the draw weights up to each position
  for (double sum = 0; const double weight : options.draw_weights) sums.push_back(sum += weight);
  std::uint32_t words[4 * kPhiloxRun];
  for (std::int64_t i = 0; i < draws; i += 2 * kPhiloxRun) {
    philox_run(options.seed, stream, static_cast<std::uint64_t>(i / 2), words);
    const std::int64_t here = std::min<std::int64_t>(draws - i, 2 * kPhiloxRun);
    for (std::int64_t k = 0; k < here; ++k)
      ++counts[sums.empty() ? bootstrap_pick(words + 2 * k, static_cast<std::uint64_t>(n))
                            : weighted_pick(words + 2 * k, sums)];
  }
}

}  // namespace

Forest finish_tree(const DraftTree& tree, std::int32_t n_classes, const BinEdges& edges, std::int64_t n_cols,
                   const std::function<void(std::int32_t, Forest&)>& append_value) {
  Forest out{.n_classes = n_classes, .n_cols = n_cols};
  reserve_nodes(out, tree.nodes.size());
  const std::vector<Cut> cuts = choose_cuts(tree, edges);
  struct Visit { std::int32_t node, parent; };
  std::vector<Visit> stack{{0, -1}};   // parent: where to note a right child
  while (!stack.empty()) {
    const auto [node, parent] = stack.back();
    stack.pop_back();
    const auto index = static_cast<std::int32_t>(out.n_nodes());
    if (parent >= 0) out.right[parent] = index;
    const DraftNode& from = tree.nodes[node];
    append_value(node, out);
    append_leaf(from, out);
    if (!from.expanded) continue;
    const Cut& cut = cuts[node];
    out.feature[index] = from.feature, out.bin[index] = static_cast<std::uint8_t>(cut.bin), out.threshold[index] = cut.threshold;
    out.left[index] = index + 1;
    stack.push_back({from.right, index});
    stack.push_back({from.left, -1});
  }
  out.tree_offset = {0, out.n_nodes()};
  return out;
}

Forest join_trees(std::vector<Forest> trees, std::int32_t n_classes, std::int64_t n_cols, int n_threads) {
  if (trees.size() == 1) return std::move(trees.front());
  Forest all{.n_classes = n_classes, .n_cols = n_cols, .tree_offset = {0}};
  std::vector<std::int64_t> base{0};
  for (const Forest& part : trees) {
    for (std::int64_t t = 1; t <= part.n_trees(); ++t) all.tree_offset.push_back(base.back() + part.tree_offset[t]);
    base.push_back(all.tree_offset.back());
  }
  const auto nodes = static_cast<std::size_t>(all.tree_offset.back());
  const auto join = [&](auto member, std::size_t size) {
    auto& to = all.*member;
    to.reserve(size);
    advise_huge_pages(to.data(), static_cast<std::int64_t>(size * sizeof to[0]));
    for (Forest& tree : trees) {
      auto from = std::move(tree.*member);   // freed when it is copied
      to.insert(to.end(), from.begin(), from.end());
    }
  };
  const auto join_children = [&](std::vector<std::int32_t> Forest::*member) {
    join(member, nodes);
    for (std::size_t part = 0; part + 1 < base.size(); ++part)
      for (std::int64_t i = base[part]; i < base[part + 1]; ++i)
        if ((all.*member)[i] >= 0) (all.*member)[i] += static_cast<std::int32_t>(base[part]);
  };
  const bool knows_rows = std::ranges::none_of(trees, [](const Forest& part) { return part.n_rows.empty(); });
  if (!knows_rows)
    for (Forest& part : trees) part.n_rows.clear();
  // A task for each member: most of the time goes into new pages.
  parallel_tasks(n_threads, 10, [&](std::int64_t task, int) {
    switch (task) {
      case 0:
        return join(&Forest::value, nodes * static_cast<std::size_t>(n_classes));
      case 8:
        return join(&Forest::mean, n_classes == 0 ? nodes : 0);
      case 9:
        return join(&Forest::n_rows, knows_rows ? nodes : 0);
      case 1:
        return join(&Forest::threshold, nodes);
      case 2:
        return join(&Forest::impurity, nodes);
      case 3:
        return join(&Forest::weight, nodes);
      case 4:
        return join_children(&Forest::left);
      case 5:
        return join_children(&Forest::right);
      case 6:
        return join(&Forest::feature, nodes);
      default:
        return join(&Forest::bin, nodes);
    }
  });
  return all;
}

void draw_rows(const ForestOptions& options, const TreeSeeds& seeds, std::int64_t tree, std::int64_t n,
               std::vector<std::uint32_t>& counts) {
  counts.assign(static_cast<std::size_t>(n), options.bootstrap ? 0 : 1);
  if (!options.bootstrap) return;
  if (options.draws == TreeDraws::kSklearn) draw_rows_as_sklearn(options, seeds.of(tree), n, counts);
  else draw_rows_by_tree(options, tree, n, counts);
  const std::uint32_t most = *std::max_element(counts.begin(), counts.end());
  require(most <= 0xffff, schema::ErrorCode::kInvalidValue, "a row was drawn {} times for one tree, at most 65535 is possible", most);
}

bool may_split(const DraftNode& node, std::int64_t n_rows, const ForestOptions& options, const TreeRules& rules) {
  return may_split(SplitLimits{options.max_depth, options.min_samples_split, options.min_samples_leaf}, node.depth,
                   n_rows, node.weight, node.impurity, rules.min_weight_leaf);
}

TreeRules make_rules(const ForestOptions& options, std::span<const std::int32_t> drawn) {
  TreeRules rules{.entropy = options.criterion == Criterion::kEntropy, .class_weight = options.class_weight};
  if (options.balance_each_tree) {
    std::int64_t total = 0, present = 0;
    for (const std::int32_t count : drawn) total += count, present += count > 0;
    rules.class_weight.assign(drawn.size(), 1.0);
    for (std::size_t c = 0; c < drawn.size(); ++c)
      if (drawn[c] > 0) rules.class_weight[c] = static_cast<double>(total) / (static_cast<double>(present) * drawn[c]);
  }
  rules.min_weight_leaf = options.min_weight_fraction_leaf * rules.sum(drawn).weight;
  return rules;
}

}  // namespace kedge::engine
