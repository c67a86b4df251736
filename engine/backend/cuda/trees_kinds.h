// The trees of a batch on the host, by kind: the rows that they take to the device, and what their nodes weigh and predict.
#pragma once

#include <numeric>
#include <vector>

#include "engine/backend/cuda/trees_counters.cuh"
#include "engine/backend/host/tree_nodes.h"

namespace kedge::engine {

template <class T>
Array<T> upload(CudaRuntime& runtime, const std::vector<T>& host) {
  return Array<T>(runtime, std::span<const T>(host));
}

// Trees of classes whose rows count as often as they are drawn.
class CountedTrees {
 public:
  using Kind = CountedKind;
  CountedTrees(const HostForestInput& in, std::size_t n_trees) : in_(in), roots_(n_trees), rules_(n_trees), nodes_(n_trees) {}

  // The rows of tree t by how often each position is drawn. Trees may be taken at once.
  std::vector<CountedRow> take(std::int64_t t, const std::vector<std::uint32_t>& drawn) {
    std::vector<CountedRow> rows;
    std::vector<std::int32_t> counts(static_cast<std::size_t>(in_.target.n_classes));
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (drawn[i] == 0) continue;
      const auto row = static_cast<std::uint32_t>(in_.rows ? in_.rows[i] : i);
      const std::int32_t cls = in_.target.codes.data[row];
      rows.push_back({row, static_cast<std::uint16_t>(cls), static_cast<std::uint16_t>(drawn[i])});
      counts[cls] += static_cast<std::int32_t>(drawn[i]);
    }
    rules_[t] = make_rules(in_.options, counts);
    nodes_[t].start(in_.target.n_classes, rules_[t].entropy);
    roots_[t].assign(counts.begin(), counts.end());
    return rows;
  }
  const std::vector<std::int64_t>& root(std::size_t t) const { return roots_[t]; }
  const TreeRules& rules(std::size_t t) const { return rules_[t]; }

  // The next node of tree t, from its sums.
  DraftNode add(std::size_t t, const std::int64_t* totals) {
    DraftNode node = nodes_[t].add([&](std::int32_t c) { return rules_[t].weight_of(c) * static_cast<double>(totals[c]); });
    if (in_.options.splitter == Splitter::kBest) node.n_rows = static_cast<std::int32_t>(weight(totals));   // as the CPU's grower of these
    return node;
  }
  std::int64_t weight(const std::int64_t* totals) const { return std::accumulate(totals, totals + in_.target.n_classes, std::int64_t{0}); }
  void append_value(std::size_t t, std::int32_t node, Forest& out) const { nodes_[t].append_value(node, out); }

  // What kind() points to; once all trees are taken and have a root.
  void upload_limits(CudaRuntime& runtime) {
    std::vector<double> class_weight, min_weight;
    for (const TreeRules& rules : rules_) {
      class_weight.insert(class_weight.end(), rules.class_weight.begin(), rules.class_weight.end());
      min_weight.push_back(rules.min_weight_leaf);
    }
    class_weight_ = upload(runtime, class_weight), min_weight_ = upload(runtime, min_weight);
  }
  static CountedKind kind_of(std::int32_t n_classes) { return {.n_classes = n_classes}; }
  CountedKind kind() const {
    return {in_.target.n_classes, class_weight_.size() > 0 ? class_weight_.data() : nullptr, min_weight_.data(),
            in_.options.criterion == Criterion::kEntropy};
  }

 private:
  const HostForestInput& in_;
  std::vector<std::vector<std::int64_t>> roots_;   // sums of the root, by tree
  std::vector<TreeRules> rules_;
  std::vector<ShareNodes> nodes_;
  Array<double> class_weight_, min_weight_;
};

}  // namespace kedge::engine
