// Draft trees: node bookkeeping, cuts and the canonical node order.
#include "engine/backend/host/tree_draft.h"

#include <algorithm>

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
  for (std::int32_t c = 0; c < tree.n_classes; ++c)
    out.value.push_back(from.weight > 0 ? static_cast<float>(rules.weight_of(c) * counts[c] / from.weight) : 0.0F);
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

}  // namespace

Forest finish_tree(const DraftTree& tree, const TreeRules& rules, const BinEdges& edges, std::int64_t n_cols) {
  Forest out{.n_classes = tree.n_classes, .n_cols = n_cols};
  reserve_nodes(out, tree.nodes.size());
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
    const Cut cut = choose_cut(edges, from.feature, from.left_bin, from.right_bin);
    out.feature[index] = from.feature, out.bin[index] = cut.bin, out.threshold[index] = cut.threshold;
    out.left[index] = index + 1;
    stack.push_back({from.right, index});
    stack.push_back({from.left, -1});
  }
  out.tree_offset = {0, out.n_nodes()};
  return out;
}

Forest join_trees(std::vector<Forest> trees, std::int32_t n_classes, std::int64_t n_cols) {
  Forest all{.n_classes = n_classes, .n_cols = n_cols, .tree_offset = {0}};
  std::size_t nodes = 0;
  for (const Forest& tree : trees) nodes += tree.feature.size();
  reserve_nodes(all, nodes);
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (Forest& tree : trees) {
    const auto base = static_cast<std::int32_t>(all.n_nodes());
    append(all.feature, tree.feature), append(all.bin, tree.bin), append(all.threshold, tree.threshold);
    append(all.value, tree.value), append(all.impurity, tree.impurity), append(all.weight, tree.weight);
    for (const std::int32_t child : tree.left) all.left.push_back(child < 0 ? -1 : child + base);
    for (const std::int32_t child : tree.right) all.right.push_back(child < 0 ? -1 : child + base);
    all.tree_offset.push_back(all.n_nodes());
    tree = Forest{};
  }
  return all;
}

void draw_rows(const ForestOptions& options, std::int64_t tree, std::int64_t n, std::vector<std::uint32_t>& counts) {
  counts.assign(static_cast<std::size_t>(n), options.bootstrap ? 0 : 1);
  if (!options.bootstrap) return;
  const std::int64_t draws = options.n_draws > 0 ? options.n_draws : n;
  for (std::int64_t i = 0; i < draws; i += 2) {
    const PhiloxBlock block = bootstrap_block(options.seed, tree, static_cast<std::uint64_t>(i / 2));
    ++counts[bootstrap_pick(block.word, static_cast<std::uint64_t>(n))];
    if (i + 1 < draws) ++counts[bootstrap_pick(block.word + 2, static_cast<std::uint64_t>(n))];
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
