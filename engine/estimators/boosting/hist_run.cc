// Iterations of boosting: see hist_run.h.
#include "engine/estimators/boosting/hist_run.h"

#include <algorithm>
#include <utility>

#include "engine/backend/host/booster.h"
#include "engine/comm/ranks.h"

namespace kedge::engine {
namespace {

// In the host's memory, by its own code.
template <class T>
class HostRun final : public BoostRun {
 public:
  HostRun(const HistFit<T>& fit, BoostTable table, const BoostRules& rules, std::span<const double> baseline)
      : X_(fit.X->host()),
        validation_(fit.validation),
        target_(fit.validation_target),
        booster_(std::move(table), rules, fit.target) {
    for (const double base : baseline)
      if (!validation_.empty()) raw_.insert(raw_.end(), validation_.size(), base);
  }

  void step(BoostForest& forest) override {
    const std::int64_t first = forest.n_trees();
    booster_.step(forest);
    if (!validation_.empty()) add_boosted(forest, first, X_, validation_, std::span<double>(raw_));
  }
  BoostLosses losses() override {
    return {.fitted = booster_.loss(), .validation = validation_.empty() ? 0 : boost_loss(target_, raw_)};
  }
  void finish(BoostForest&) override {}

 private:
  MatrixView<const T> X_;
  std::span<const std::int32_t> validation_;
  BoostTarget target_;
  std::vector<double> raw_;   // of the rows that validate
  Booster booster_;
};

// By the device, from the values that it has, or by the host, which knows categories and edges by weights.
template <class T>
void bin_for(BoostOps& ops, const Context& ctx, const HistFit<T>& fit, BoostFit& made) {
  const BoostBinning& binning = fit.binning;
  const bool has_plain_edges = binning.weights.empty() || !binning.drawn.empty();
  if (has_plain_edges && std::ranges::count(binning.is_category, 1) == 0) {
    made.table = ops.bin(BoostCells<T>{fit.X->values(), fit.rows}, binning);
    if (!fit.validation.empty())
      made.validation = ops.code(BoostCells<T>{fit.X->values(), fit.validation}, made.table.columns);
    return;
  }
  BoostBinning unpacked = binning;
  unpacked.packs = false;
  const BoostTable table = boost_table(fit.X->host(), fit.rows, unpacked, *fit.categories);
  made.table = BoostCodes::of(ctx.memory(), table);
  if (!fit.validation.empty())
    made.validation = BoostCodes::of(ctx.memory(), coded_rows(fit.X->host(), fit.validation, table.columns));
}

}   // namespace

template <class T>
std::unique_ptr<BoostRun> start_run(const Context& ctx, const HistFit<T>& fit, const BoostRules& rules,
                                    std::span<const double> baseline) {
  BoostOps* const ops = boost_ops(ctx.device.trees());
  const bool is_there = ops && !ranks_of_row_sums() &&   // which divide the columns
                        ops->takes(fit.target.loss, fit.target.n_rows(), fit.X->values().cols, rules);
  if (!is_there)
    return std::make_unique<HostRun<T>>(fit, boost_table(fit.X->host(), fit.rows, fit.binning, *fit.categories), rules,
                                        baseline);
  BoostFit made{.table = {},
                .rules = &rules,
                .target = fit.target,
                .baseline = baseline,
                .validation = {},
                .validation_target = fit.validation_target};
  bin_for(*ops, ctx, fit, made);
  return ops->start(std::move(made));
}

template std::unique_ptr<BoostRun> start_run(const Context&, const HistFit<float>&, const BoostRules&,
                                             std::span<const double>);
template std::unique_ptr<BoostRun> start_run(const Context&, const HistFit<double>&, const BoostRules&,
                                             std::span<const double>);

}   // namespace kedge::engine
