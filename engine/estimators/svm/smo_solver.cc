// Working sets: which variables, the gradient that follows them, thresholds and the duality gap.
#include "engine/estimators/svm/smo_solver.h"

#include <algorithm>
#include <numeric>

#include "engine/core/stop.h"
#include "engine/estimators/svm/smo_block.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kWorkingSet = 512;
constexpr double kOfGap = 0.1;              // a working set is solved until its gap is this part of the whole problem's
constexpr double kOfTolerance = 0.5;        // but not beyond this part of tol

using Extent = SmoState::Extent;

// The kernel values between the rows of a set, which rise: whole rows where the set is the problem. Otherwise most of a
// set does not move, and only what moves needs its whole row: the values are those between the rows alone.
class SetKernel {
 public:
  struct Place {
    const float* row;
    std::int32_t column;   // of a row, of the same variable
  };

  SetKernel(KernelRows& kernel, const std::vector<std::int32_t>& rows, bool is_whole) : kernel_(kernel), rows_(rows) {
    if (is_whole) kernel.load(rows);
    else square_ = kernel.square(rows);
  }

  Place at(std::int32_t row) const {
    if (square_.empty()) return {kernel_.row(row), row};
    const auto place = std::ranges::lower_bound(rows_, row) - rows_.begin();
    return {square_.data() + place * std::ssize(rows_), static_cast<std::int32_t>(place)};
  }

 private:
  const KernelRows& kernel_;
  const std::vector<std::int32_t>& rows_;
  std::vector<float> square_;
};

class Solver {
 public:
  Solver(KernelRows& kernel, const SmoProblem& problem, const SmoOptions& options)
      : kernel_(kernel), problem_(problem), options_(options), state_(problem), most_(most_steps(options)) {
    for (const KernelColumns& range : problem.ranges)
      for (std::int64_t i = 0; i < range.count; ++i) column_.push_back(static_cast<std::int32_t>(range.first + i));
  }

  SmoResult run() {
    add(state_.sums_of_start());
    if (is_whole()) solve_whole();
    else solve_in_sets();
    return std::move(state_).result();
  }

 private:
  bool is_whole() const { return static_cast<std::int64_t>(problem_.size()) <= kWholeProblem; }

  // values += K (changes of y a), given by row.
  void add(const std::vector<double>& changes) {
    std::vector<std::int32_t> rows;
    std::vector<double> coefs;
    const auto flush = [&] {
      kernel_.load(rows);
      kernel_.add_products(rows, coefs, problem_.ranges, state_.values.data());
      rows.clear(), coefs.clear();
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (changes[i] == 0) continue;
      rows.push_back(column_[i]), coefs.push_back(changes[i]);
      if (static_cast<std::int64_t>(rows.size()) == kWorkingSet) flush();
    }
    if (!rows.empty()) flush();
  }

  // Solves the chosen variables; the values follow.
  bool solve_set(std::vector<std::int32_t> chosen, double tol, std::int64_t max_iter) {
    const auto second = std::ranges::stable_partition(
        chosen, [&](std::int32_t t) { return state_.group(static_cast<std::size_t>(t)) == 0; });
    std::vector<std::int32_t> rows;
    for (const std::int32_t t : chosen) rows.push_back(column_of(t));
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const SetKernel values(kernel_, rows, is_whole());
    std::vector<SmoBlock::Variable> variables;
    for (const std::int32_t chosen_t : chosen) {
      const auto t = static_cast<std::size_t>(chosen_t);
      const auto [of_row, place] = values.at(column_of(chosen_t));
      variables.push_back({.score = state_.score(t),
                           .alpha = state_.alpha[t],
                           .C = problem_.C[t],
                           .diagonal = of_row[place],   // rounded as the rest is: steps then always descend
                           .y = problem_.y[t],
                           .kernel = of_row,
                           .column = place});
    }
    SmoBlock block(variables, static_cast<std::int64_t>(second.begin() - chosen.begin()));
    const SmoBlock::Outcome outcome = block.solve(tol, max_iter);
    state_.n_iter += outcome.n_iter, state_.is_indefinite = state_.is_indefinite || outcome.is_indefinite;
    std::vector<double> changes(column_.size(), 0.0);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const auto t = static_cast<std::size_t>(chosen[k]);
      const double now = block.alpha(static_cast<std::int64_t>(k));
      changes[static_cast<std::size_t>(problem_.row[t])] += state_.y(t) * (now - state_.alpha[t]);
      state_.alpha[t] = now;
    }
    add(changes);
    return outcome.has_converged;
  }

  std::int32_t column_of(std::int32_t t) const {
    return column_[static_cast<std::size_t>(problem_.row[static_cast<std::size_t>(t)])];
  }

  void solve_whole() {
    std::vector<std::int32_t> all(problem_.size());
    std::iota(all.begin(), all.end(), 0);
    state_.has_converged = solve_set(std::move(all), options_.tol, most_);
  }

  void solve_in_sets() {
    std::vector<std::int32_t> former;
    for (;;) {
      check_job_stop();
      const std::array<Extent, 2> found = state_.extents();
      const double gap = std::max(found[0].gap(), found[1].gap());
      if (!(gap >= options_.tol)) return;
      if (state_.n_iter >= most_) {
        state_.has_converged = false;
        return;
      }
      former = working_set(found, former);
      const double tol = std::max(kOfGap * gap, kOfTolerance * options_.tol);
      solve_set(former, tol, std::min(most_ - state_.n_iter, kStepsOfASet * kWorkingSet));
    }
  }

  // Variables of the former set between their bounds, then those that violate most, from both ends and of both groups.
  std::vector<std::int32_t> working_set(const std::array<Extent, 2>& found, const std::vector<std::int32_t>& former) {
    std::vector<std::int32_t> set;
    std::vector<char> is_in(problem_.size(), 0);
    const auto take = [&](std::int32_t t) {
      if (is_in[static_cast<std::size_t>(t)]) return;
      is_in[static_cast<std::size_t>(t)] = 1, set.push_back(t);
    };
    for (std::size_t g = 0; g < 2; ++g)   // the pair that violates most is always among them
      for (const bool up : {true, false})
        for (const std::int32_t t : violators(found[g], g, up)) take(t);
    std::int64_t kept = 0;
    for (const std::int32_t t : former) {
      const auto at = static_cast<std::size_t>(t);
      if (static_cast<std::int64_t>(set.size()) >= kWorkingSet) break;
      if (state_.is_free(at) && kept < kWorkingSet) take(t), ++kept;
    }
    return set;
  }

  std::vector<std::int32_t> violators(const Extent& extent, std::size_t of_group, bool up) const {
    std::vector<std::int32_t> all;
    for (std::size_t t = 0; t < state_.alpha.size(); ++t) {
      if (state_.group(t) != of_group || !(up ? state_.rises(t) : state_.falls(t))) continue;
      const double v = state_.score(t);
      if (up ? v > extent.lowest : v < extent.highest) all.push_back(static_cast<std::int32_t>(t));
    }
    const std::size_t most = kWorkingSet / (problem_.by_sign ? 8 : 4);
    const auto first = [&](std::int32_t a, std::int32_t b) {
      const double x = state_.score(static_cast<std::size_t>(a)), z = state_.score(static_cast<std::size_t>(b));
      return x != z ? (up ? x > z : x < z) : a < b;
    };
    if (all.size() > most) {
      std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(most), first);
      all.resize(most);
      std::ranges::sort(all);
    }
    return all;
  }

  KernelRows& kernel_;
  const SmoProblem& problem_;
  const SmoOptions& options_;
  std::vector<std::int32_t> column_;   // of KernelRows, of each row
  SmoState state_;
  std::int64_t most_;
};

}   // namespace

SmoResult solve_smo(KernelRows& kernel, const SmoProblem& problem, const SmoOptions& options) {
  return Solver(kernel, problem, options).run();
}

}   // namespace kedge::engine
