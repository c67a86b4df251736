// Working sets: which variables, the gradient that follows them, thresholds and the duality gap.
#include "engine/estimators/svm/smo_solver.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/stop.h"
#include "engine/estimators/svm/smo_block.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kWorkingSet = 512;
constexpr double kOfGap = 0.1;              // a working set is solved until its gap is this part of the whole problem's
constexpr double kOfTolerance = 0.5;        // but not beyond this part of tol
constexpr std::int64_t kStepsOfASet = 32;   // times its size, at most: then other variables violate more

struct Extent {
  double highest = -kInfinite, lowest = kInfinite;
  double gap() const { return highest - lowest; }
};

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
      : kernel_(kernel), problem_(problem), options_(options), alpha_(problem.alpha) {
    for (const KernelRows::Range& range : problem.ranges)
      for (std::int64_t i = 0; i < range.count; ++i) column_.push_back(static_cast<std::int32_t>(range.first + i));
    values_.assign(column_.size(), 0.0);
    most_ = options.max_iter < 0 ? std::numeric_limits<std::int64_t>::max() : options.max_iter;
  }

  SmoResult run() {
    start_values();
    if (is_whole()) solve_whole();
    else solve_in_sets();
    return result();
  }

 private:
  bool is_whole() const { return static_cast<std::int64_t>(problem_.size()) <= kWholeProblem; }
  double y(std::size_t t) const { return problem_.y[t]; }
  std::size_t group(std::size_t t) const { return problem_.by_sign && problem_.y[t] < 0 ? 1 : 0; }
  double score(std::size_t t) const { return problem_.offset[t] - values_[static_cast<std::size_t>(problem_.row[t])]; }
  bool rises(std::size_t t) const { return may_rise(y(t), alpha_[t], problem_.C[t]); }
  bool falls(std::size_t t) const { return may_fall(y(t), alpha_[t], problem_.C[t]); }

  // values_ += K (changes of y a), given by row.
  void add(const std::vector<double>& changes) {
    std::vector<std::int32_t> rows;
    std::vector<double> coefs;
    const auto flush = [&] {
      kernel_.load(rows);
      kernel_.add_products(rows, coefs, problem_.ranges, values_.data());
      rows.clear(), coefs.clear();
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (changes[i] == 0) continue;
      rows.push_back(column_[i]), coefs.push_back(changes[i]);
      if (static_cast<std::int64_t>(rows.size()) == kWorkingSet) flush();
    }
    if (!rows.empty()) flush();
  }

  void start_values() {
    std::vector<double> sums(column_.size(), 0.0);
    for (std::size_t t = 0; t < alpha_.size(); ++t) sums[static_cast<std::size_t>(problem_.row[t])] += y(t) * alpha_[t];
    add(sums);
  }

  std::array<Extent, 2> extents() const {
    std::array<Extent, 2> found;
    for (std::size_t t = 0; t < alpha_.size(); ++t) {
      Extent& of = found[group(t)];
      const double v = score(t);
      if (rises(t)) of.highest = std::max(of.highest, v);
      if (falls(t)) of.lowest = std::min(of.lowest, v);
    }
    return found;
  }

  // Solves the chosen variables; the values follow where `follow`.
  bool solve_set(std::vector<std::int32_t> chosen, double tol, std::int64_t max_iter) {
    const auto second =
        std::ranges::stable_partition(chosen, [&](std::int32_t t) { return group(static_cast<std::size_t>(t)) == 0; });
    std::vector<std::int32_t> rows;
    for (const std::int32_t t : chosen) rows.push_back(column_of(t));
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const SetKernel values(kernel_, rows, is_whole());
    std::vector<SmoBlock::Variable> variables;
    for (const std::int32_t chosen_t : chosen) {
      const auto t = static_cast<std::size_t>(chosen_t);
      const auto [of_row, place] = values.at(column_of(chosen_t));
      variables.push_back({.score = score(t),
                           .alpha = alpha_[t],
                           .C = problem_.C[t],
                           .diagonal = of_row[place],   // rounded as the rest is: steps then always descend
                           .y = problem_.y[t],
                           .kernel = of_row,
                           .column = place});
    }
    SmoBlock block(variables, static_cast<std::int64_t>(second.begin() - chosen.begin()));
    const SmoBlock::Outcome outcome = block.solve(tol, max_iter);
    n_iter_ += outcome.n_iter, is_indefinite_ = is_indefinite_ || outcome.is_indefinite;
    std::vector<double> changes(column_.size(), 0.0);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const auto t = static_cast<std::size_t>(chosen[k]);
      const double now = block.alpha(static_cast<std::int64_t>(k));
      changes[static_cast<std::size_t>(problem_.row[t])] += y(t) * (now - alpha_[t]);
      alpha_[t] = now;
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
    has_converged_ = solve_set(std::move(all), options_.tol, most_);
  }

  void solve_in_sets() {
    std::vector<std::int32_t> former;
    for (;;) {
      check_job_stop();
      const std::array<Extent, 2> found = extents();
      const double gap = std::max(found[0].gap(), found[1].gap());
      if (!(gap >= options_.tol)) return;
      if (n_iter_ >= most_) {
        has_converged_ = false;
        return;
      }
      former = working_set(found, former);
      const double tol = std::max(kOfGap * gap, kOfTolerance * options_.tol);
      solve_set(former, tol, std::min(most_ - n_iter_, kStepsOfASet * kWorkingSet));
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
      if (alpha_[at] > 0 && alpha_[at] < problem_.C[at] && kept < kWorkingSet) take(t), ++kept;
    }
    return set;
  }

  std::vector<std::int32_t> violators(const Extent& extent, std::size_t of_group, bool up) const {
    std::vector<std::int32_t> all;
    for (std::size_t t = 0; t < alpha_.size(); ++t) {
      if (group(t) != of_group || !(up ? rises(t) : falls(t))) continue;
      const double v = score(t);
      if (up ? v > extent.lowest : v < extent.highest) all.push_back(static_cast<std::int32_t>(t));
    }
    const std::size_t most = kWorkingSet / (problem_.by_sign ? 8 : 4);
    const auto first = [&](std::int32_t a, std::int32_t b) {
      const double x = score(static_cast<std::size_t>(a)), z = score(static_cast<std::size_t>(b));
      return x != z ? (up ? x > z : x < z) : a < b;
    };
    if (all.size() > most) {
      std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(most), first);
      all.resize(most);
      std::ranges::sort(all);
    }
    return all;
  }

  // The mean score of what is between its bounds, or the middle of what the bounds allow.
  double threshold(std::size_t of_group, const Extent& extent) const {
    double sum = 0;
    std::int64_t count = 0;
    for (std::size_t t = 0; t < alpha_.size(); ++t)
      if (group(t) == of_group && alpha_[t] > 0 && alpha_[t] < problem_.C[t]) sum += score(t), ++count;
    if (count > 0) return sum / static_cast<double>(count);
    if (std::isfinite(extent.highest) && std::isfinite(extent.lowest)) return (extent.highest + extent.lowest) / 2;
    return std::isfinite(extent.highest) ? extent.highest : (std::isfinite(extent.lowest) ? extent.lowest : 0.0);
  }

  SmoResult result() {
    SmoResult result{.n_iter = n_iter_, .has_converged = has_converged_, .is_indefinite = is_indefinite_};
    const std::array<Extent, 2> found = extents();
    result.threshold[0] = threshold(0, found[0]);
    result.threshold[1] = problem_.by_sign ? threshold(1, found[1]) : result.threshold[0];
    for (std::size_t t = 0; t < alpha_.size(); ++t) {
      const double v = score(t), slack = y(t) * (v - result.threshold[group(t)]);
      result.gap += problem_.C[t] * std::max(0.0, slack) - alpha_[t] * slack;
      result.objective -= alpha_[t] * y(t) * (v + problem_.offset[t]) / 2;   // a (G + p) / 2
    }
    result.alpha = std::move(alpha_), result.values = std::move(values_);
    return result;
  }

  KernelRows& kernel_;
  const SmoProblem& problem_;
  const SmoOptions& options_;
  std::vector<std::int32_t> column_;   // of KernelRows, of each row
  std::vector<double> alpha_, values_;
  std::int64_t n_iter_ = 0, most_ = 0;
  bool has_converged_ = true, is_indefinite_ = false;
};

}   // namespace

SmoResult solve_smo(KernelRows& kernel, const SmoProblem& problem, const SmoOptions& options) {
  return Solver(kernel, problem, options).run();
}

}   // namespace kedge::engine
