// Draft trees: node bookkeeping, cuts and the canonical node order.
#include "engine/backend/host/tree_draft.h"

#include <algorithm>

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

std::int32_t DraftTree::add(const std::int32_t* node_counts, std::int32_t depth, std::uint64_t key, const TreeRules& rules) {
  const SideSum sum = rules.sum({node_counts, static_cast<std::size_t>(n_classes)});
  counts.insert(counts.end(), node_counts, node_counts + n_classes);
  nodes.push_back({.depth = depth, .impurity = node_impurity(sum, rules.entropy), .weight = sum.weight, .key = key});
  return static_cast<std::int32_t>(nodes.size()) - 1;
}

bool DraftTree::accept_split(std::int32_t node, double min_impurity_decrease) {
  DraftNode& parent = nodes[node];
  const DraftNode &left = nodes[parent.left], &right = nodes[parent.right];
  parent.improvement = parent.weight / nodes[0].weight *
                       (parent.impurity - right.weight / parent.weight * right.impurity - left.weight / parent.weight * left.impurity);
  return parent.improvement + kPureImpurity >= min_impurity_decrease;
}

Cut choose_cut(const BinEdges& edges, std::int64_t feature, int left_bin, int right_bin) {
  const double* low = edges.low.data() + edges.offset[feature];
  const double* high = edges.high.data() + edges.offset[feature];
  const auto midpoint = [](double a, double b) {
    const double middle = a / 2 + b / 2;
    return middle < b && middle >= a ? middle : a;   // the halves of neighbouring numbers may round up to b; b may be infinite
  };
  double threshold = midpoint(high[left_bin], low[right_bin]);
  int bin = left_bin;
  while (bin + 1 < right_bin && low[bin + 1] <= threshold) ++bin;
  if (high[bin] > threshold) threshold = midpoint(high[bin], low[bin + 1]);
  return {static_cast<std::uint8_t>(bin), threshold};
}

namespace {

void append_node(Forest& out, const DraftTree& tree, std::int32_t node, const TreeRules& rules) {
  const DraftNode& from = tree.nodes[node];
  const auto counts = tree.counts_of(node);
  out.value.resize(out.value.size() + counts.size());
  float* const share = out.value.data() + (out.value.size() - counts.size());
  for (std::int32_t c = 0; c < tree.n_classes; ++c)
    share[c] = counts[c] != 0 && from.weight > 0 ? static_cast<float>(rules.weight_of(c) * counts[c] / from.weight) : 0.0F;
  out.feature.push_back(-1), out.bin.push_back(0), out.threshold.push_back(0);
  out.left.push_back(-1), out.right.push_back(-1);
  out.impurity.push_back(from.impurity), out.weight.push_back(from.weight);
}

void reserve_nodes(Forest& forest, std::size_t nodes) {
  forest.feature.reserve(nodes), forest.bin.reserve(nodes), forest.threshold.reserve(nodes);
  forest.left.reserve(nodes), forest.right.reserve(nodes);
  forest.value.reserve(nodes * static_cast<std::size_t>(forest.n_classes));
  forest.impurity.reserve(nodes), forest.weight.reserve(nodes);
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
    if (node.expanded) cuts[i] = choose_cut(edges, node.feature, node.left_bin, node.right_bin);
  }
  return cuts;
}

}  // namespace

Forest finish_tree(const DraftTree& tree, const TreeRules& rules, const BinEdges& edges, std::int64_t n_cols) {
  Forest out{.n_classes = tree.n_classes, .n_cols = n_cols};
  reserve_nodes(out, tree.nodes.size());
  const std::vector<Cut> cuts = choose_cuts(tree, edges);
  struct Visit { std::int32_t node, parent; };
  std::vector<Visit> stack{{0, -1}};   // parent: where to note a right child
  while (!stack.empty()) {
    const auto [node, parent] = stack.back();
    stack.pop_back();
    const auto index = static_cast<std::int32_t>(out.n_nodes());
    if (parent >= 0) out.right[parent] = index;
    append_node(out, tree, node, rules);
    const DraftNode& from = tree.nodes[node];
    if (!from.expanded) continue;
    const Cut& cut = cuts[node];
    out.feature[index] = from.feature, out.bin[index] = cut.bin, out.threshold[index] = cut.threshold;
    out.left[index] = index + 1;
    stack.push_back({from.right, index});
    stack.push_back({from.left, -1});
  }
  out.tree_offset = {0, out.n_nodes()};
  return out;
}

Forest join_trees(std::vector<Forest> trees, std::int32_t n_classes, std::int64_t n_cols, int n_threads) {
  Forest all{.n_classes = n_classes, .n_cols = n_cols, .tree_offset = {0}};
  for (const Forest& tree : trees) all.tree_offset.push_back(all.tree_offset.back() + tree.n_nodes());
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
    for (std::size_t t = 0; t + 1 < all.tree_offset.size(); ++t)
      for (std::int64_t i = all.tree_offset[t]; i < all.tree_offset[t + 1]; ++i)
        if ((all.*member)[i] >= 0) (all.*member)[i] += static_cast<std::int32_t>(all.tree_offset[t]);
  };
  // A task for each member: most of the time goes into new pages.
  parallel_tasks(n_threads, 8, [&](std::int64_t task, int) {
    switch (task) {
      case 0: return join(&Forest::value, nodes * static_cast<std::size_t>(n_classes));
      case 1: return join(&Forest::threshold, nodes);
      case 2: return join(&Forest::impurity, nodes);
      case 3: return join(&Forest::weight, nodes);
      case 4: return join_children(&Forest::left);
      case 5: return join_children(&Forest::right);
      case 6: return join(&Forest::feature, nodes);
      default: return join(&Forest::bin, nodes);
    }
  });
  return all;
}

void draw_rows(const ForestOptions& options, std::int64_t tree, std::int64_t n, std::vector<std::uint32_t>& counts) {
  counts.assign(static_cast<std::size_t>(n), options.bootstrap ? 0 : 1);
  if (!options.bootstrap) return;
  const std::int64_t draws = options.n_draws > 0 ? options.n_draws : n;
  const std::uint64_t stream = bootstrap_stream(tree);
  std::uint32_t words[4 * kPhiloxRun];
  for (std::int64_t i = 0; i < draws; i += 2 * kPhiloxRun) {
    philox_run(options.seed, stream, static_cast<std::uint64_t>(i / 2), words);
    const std::int64_t here = std::min<std::int64_t>(draws - i, 2 * kPhiloxRun);
    for (std::int64_t k = 0; k < here; ++k) ++counts[bootstrap_pick(words + 2 * k, static_cast<std::uint64_t>(n))];
  }
  const std::uint32_t most = *std::max_element(counts.begin(), counts.end());
  require(most <= 0xffff, schema::ErrorCode::kInvalidValue, "a row was drawn {} times for one tree, at most 65535 is possible", most);
}

bool may_split(const DraftNode& node, std::int64_t n_rows, const ForestOptions& options, const TreeRules& rules) {
  return node.depth < options.max_depth && n_rows >= options.min_samples_split && n_rows >= 2 * options.min_samples_leaf &&
         !(node.weight < 2 * rules.min_weight_leaf) && node.impurity > kPureImpurity;
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
