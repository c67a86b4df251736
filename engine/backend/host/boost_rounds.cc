// Chooses what a round parts: see boost_rounds.h.
#include "engine/backend/host/boost_rounds.h"

#include <algorithm>
#include <limits>

namespace kedge::engine {

BoostRounds::BoostRounds(std::span<const BoostColumn> columns, const BoostRules& rules)
    : columns_(columns), rules_(rules) {}

void BoostRounds::begin(std::uint64_t number, std::int64_t n_rows) {
  number_ = number;
  nodes_.clear(), parts_.clear(), leaves_.clear(), rows_.clear(), cut_.clear();
  nodes_.emplace_back(boost_root(rules_, n_rows, BoostSum{}));
}

void BoostRounds::set_root(const CutJudge& judge, BoostSum sum, const BoostCut& cut) {
  judge_ = judge;
  nodes_[0].cuts.sum = sum;
  if (may_cut(rules_, nodes_[0]) && judge.hessian(sum) >= judge.least_hessian) nodes_[0].cut = cut;
}

std::span<const RoundPart> BoostRounds::next() {
  constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  const std::int64_t most = rules_.max_leaves > 1 ? rules_.max_leaves - 1 : kNoLimit;
  parts_.clear(), cut_.clear(), heap_.clear();
  const auto is_worse = [&](std::int32_t a, std::int32_t b) { return nodes_[a].is_worse(nodes_[b]); };
  const auto push = [&](std::int32_t at) {
    if (nodes_[at].cut.gain <= 0) return;
    heap_.push_back(at);
    std::ranges::push_heap(heap_, is_worse);
  };
  push(0);
  std::int32_t next_id = 1;
  for (std::int64_t n_cuts = 1; n_cuts <= most && !heap_.empty(); ++n_cuts, next_id += 2) {
    std::ranges::pop_heap(heap_, is_worse);
    const std::int32_t at = heap_.back(), left = nodes_[at].left;
    heap_.pop_back();
    const bool is_known = parts_.empty();   // what was cut before it, so that it surely is, and its children's numbers
    if (left < 0) {
      if (!is_known && rules_.max_features < 1) break;
      part(at, next_id, !(is_known && n_cuts == most));
      continue;
    }
    nodes_[left].id = next_id, nodes_[left + 1].id = next_id + 1;
    if (is_known) cut_.push_back(at);
    push(left), push(left + 1);
  }
  return parts_;
}

void BoostRounds::part(std::int32_t at, std::int32_t left_id, bool is_searched) {
  const BoostSum left_sum = nodes_[at].cut.left_sum;
  auto [left, right] = boost_children(judge_, rules_, nodes_[at], judge_.count(left_sum));
  left.id = left_id, right.id = left_id + 1;
  const bool may_be = may_cut(rules_, left) || may_cut(rules_, right);
  const std::int32_t list = 1 - nodes_[at].list;
  nodes_[at].left = static_cast<std::int32_t>(nodes_.size());
  for (BoostNode* const child : {&left, &right}) {
    nodes_.emplace_back(std::move(*child));
    nodes_.back().list = list;
  }
  parts_.push_back({at, is_searched && may_be});
}

void BoostRounds::finish(BoostForest& forest) {
  const std::int64_t root = forest.n_nodes();
  std::vector<std::uint8_t> is_cut(nodes_.size(), 0);
  append_node(forest, root, nodes_[0]);
  for (const std::int32_t at : cut_) {
    const std::int32_t left = nodes_[at].left;
    append_node(forest, root, nodes_[left]), append_node(forest, root, nodes_[left + 1]);
    put_cut(forest, root, columns_, nodes_[at], nodes_[left].id, nodes_[left].size());
    is_cut[at] = 1;
  }
  forest.tree_offset.push_back(forest.n_nodes());
  const auto put_leaf = [&](std::int32_t at) {
    if (is_cut[at]) return;
    const RoundNode& node = nodes_[at];
    put_rows(static_cast<std::int32_t>(leaves_.size()), at);
    leaves_.push_back({node.id, node.size(), node.value_low, node.value_high});
  };
  put_leaf(0);
  for (const std::int32_t at : cut_) put_leaf(nodes_[at].left), put_leaf(nodes_[at].left + 1);
}

void BoostRounds::put_rows(std::int32_t leaf, std::int32_t at) {
  const RoundNode& node = nodes_[at];
  if (node.left < 0) return rows_.push_back({leaf, node.list, node.begin, node.size()});
  put_rows(leaf, node.left), put_rows(leaf, node.left + 1);
}

}   // namespace kedge::engine
