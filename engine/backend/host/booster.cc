// An iteration of boosting on the host.
#include "engine/backend/host/booster.h"

#include <utility>

#include "engine/backend/host/row_chunks.h"

namespace kedge::engine {

Booster::Booster(BoostTable table, BoostRules rules, const BoostTarget& target)
    : table_(std::move(table)),
      rules_(std::move(rules)),
      target_(target),
      baseline_(boost_baseline(target)),
      grower_(table_, rules_) {
  for (std::int32_t k = 0; k < target.n_outputs; ++k)
    raw_.insert(raw_.end(), static_cast<std::size_t>(target.n_rows()), baseline_[static_cast<std::size_t>(k)]);
  gradients_.resize(raw_.size());
  if (!target.has_unit_hessians()) hessians_.resize(raw_.size());
}

void Booster::step(BoostForest& forest) {
  boost_gradients(target_, raw_, gradients_, hessians_);
  const auto n = static_cast<std::size_t>(target_.n_rows());
  for (std::size_t k = 0; k < static_cast<std::size_t>(target_.n_outputs); ++k) {
    const std::span<const double> gradients(gradients_.data() + k * n, n);
    grower_.grow(gradients,
                 hessians_.empty() ? std::span<const double>() : std::span<const double>(hessians_.data() + k * n, n),
                 n_trees_++, forest);
    if (target_.is_piecewise()) refit_leaves(forest);
    add_leaves(raw_.data() + k * n);
  }
}

// Where the loss has no curvature a leaf predicts the quantile of its residuals (Friedman, "Greedy function
// approximation", 2001).
void Booster::refit_leaves(BoostForest& forest) {
  const std::int64_t root = forest.tree_offset[forest.tree_offset.size() - 2];
  std::vector<BoostLeaf>& leaves = grower_.leaves();
  constexpr std::int64_t kResidualNs = 20;
  for_tasks(static_cast<std::int64_t>(leaves.size()), table_.n_rows * kResidualNs, [&](std::int64_t l) {
    BoostLeaf& leaf = leaves[static_cast<std::size_t>(l)];
    std::vector<double> residuals, weights;
    for (const std::uint32_t row : grower_.rows().subspan(static_cast<std::size_t>(leaf.begin),
                                                          static_cast<std::size_t>(leaf.end - leaf.begin))) {
      residuals.push_back(target_.y[row] - raw_[row]);
      if (!target_.weights.empty()) weights.push_back(target_.weights[row]);
    }
    leaf.value = rules_.learning_rate * boost_residual(target_, residuals, weights);
    forest.value[static_cast<std::size_t>(root + leaf.node)] = leaf.value;
  });
}

void Booster::add_leaves(double* raw) {
  const std::vector<BoostLeaf>& leaves = grower_.leaves();
  for_tasks(static_cast<std::int64_t>(leaves.size()), table_.n_rows, [&](std::int64_t l) {
    const BoostLeaf& leaf = leaves[static_cast<std::size_t>(l)];
    for (std::int64_t i = leaf.begin; i < leaf.end; ++i) raw[grower_.rows()[static_cast<std::size_t>(i)]] += leaf.value;
  });
}

}   // namespace kedge::engine
