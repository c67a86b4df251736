// The loop over working sets: what the device chose and solved, and the kernel rows of what moved.
#include "engine/estimators/svm/smo_device.h"

#include <algorithm>

#include "engine/core/stop.h"
#include "engine/estimators/svm/smo_solver.h"

namespace kedge::engine {
namespace {

struct RowChange {
  std::int32_t row;
  double coef;
};

// The changes by row, those of two variables of one row added in their order.
std::vector<RowChange> changes_by_row(const SmoSet& set) {
  std::vector<RowChange> changes;
  for (std::size_t k = 0; k < set.rows.size(); ++k) changes.push_back({set.rows[k], set.changes[k]});
  std::ranges::stable_sort(changes, {}, &RowChange::row);
  std::vector<RowChange> merged;
  for (const RowChange& change : changes) {
    if (!merged.empty() && merged.back().row == change.row) merged.back().coef += change.coef;
    else merged.push_back(change);
  }
  std::erase_if(merged, [](const RowChange& change) { return change.coef == 0; });
  return merged;
}

void add(DeviceRows& kernel, SmoSteps& steps, std::span<const RowChange> changes) {
  std::vector<std::int32_t> rows;
  std::vector<double> coefs;
  for (const RowChange& change : changes) rows.push_back(change.row), coefs.push_back(change.coef);
  const std::vector<std::int32_t> places = kernel.load(rows);
  steps.add(kernel.kept(), places, coefs);
}

void add_start(DeviceRows& kernel, SmoSteps& steps, const std::vector<double>& sums) {
  std::vector<RowChange> changes;
  const auto flush = [&] {
    check_job_stop();
    add(kernel, steps, changes);
    changes.clear();
  };
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != 0) changes.push_back({static_cast<std::int32_t>(i), sums[i]});
    if (std::ssize(changes) == kSmoSet) flush();
  }
  if (!changes.empty()) flush();
}

}   // namespace

SmoResult solve_smo(DeviceRows& kernel, const SmoProblem& problem, const SmoOptions& options) {
  SmoState state(problem);
  const std::int64_t most = most_steps(options);
  const std::unique_ptr<SmoSteps> steps = kernel.ops().smo_steps({.row = problem.row,
                                                                  .y = problem.y,
                                                                  .C = problem.C,
                                                                  .alpha = problem.alpha,
                                                                  .offset = problem.offset,
                                                                  .by_sign = problem.by_sign,
                                                                  .n_rows = kernel.size()});
  add_start(kernel, *steps, state.sums_of_start());
  for (;;) {
    check_job_stop();
    const VectorView<const std::int32_t> rows = steps->choose(options.tol);
    const std::int64_t left = most - state.n_iter;
    const SmoSet set = steps->solve(kernel.square(rows), std::min(left, kStepsOfASet * kSmoSet));
    if (set.rows.empty()) break;
    if (left == 0) {
      state.has_converged = false;
      break;
    }
    state.n_iter += set.n_iter, state.is_indefinite = state.is_indefinite || set.is_indefinite;
    add(kernel, *steps, changes_by_row(set));
  }
  state.alpha = steps->alpha(), state.values = steps->values();
  return std::move(state).result();
}

}   // namespace kedge::engine
