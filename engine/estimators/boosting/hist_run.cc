// Iterations of boosting: see hist_run.h.
#include "engine/estimators/boosting/hist_run.h"

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
      : X_(fit.X),
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

}   // namespace

template <class T>
std::unique_ptr<BoostRun> start_run(const Context& ctx, const HistFit<T>& fit, const BoostRules& rules,
                                    std::span<const double> baseline) {
  BoostOps* const ops = boost_ops(ctx.device.trees());
  const bool is_there = ops && !ranks_of_row_sums() &&   // which divide the columns
                        ops->takes(fit.target.loss, fit.target.n_rows(), fit.X.cols, rules);
  BoostBinning binning = fit.binning;
  binning.packs = !is_there;
  BoostTable table = boost_table(fit.X, fit.rows, binning, *fit.categories);
  if (!is_there) return std::make_unique<HostRun<T>>(fit, std::move(table), rules, baseline);
  BoostTable validation;
  if (!fit.validation.empty()) validation = coded_rows(fit.X, fit.validation, table.columns);
  return ops->start({.table = &table,
                     .rules = &rules,
                     .target = fit.target,
                     .baseline = baseline,
                     .validation = fit.validation.empty() ? nullptr : &validation,
                     .validation_target = fit.validation_target});
}

template std::unique_ptr<BoostRun> start_run(const Context&, const HistFit<float>&, const BoostRules&,
                                             std::span<const double>);
template std::unique_ptr<BoostRun> start_run(const Context&, const HistFit<double>&, const BoostRules&,
                                             std::span<const double>);

}   // namespace kedge::engine
