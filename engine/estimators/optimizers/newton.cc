// Newton's method: a step from a linear system, or by coordinate descent where there is an L1 term, then backtracking.
#include "engine/estimators/optimizers/newton.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/estimators/optimizers/lbfgs_memory.h"
#include "engine/estimators/optimizers/owlqn.h"

namespace kedge::engine {
namespace {

using Vector = std::vector<double>;
using Stop = NewtonResult::Stop;
constexpr double kSufficient = 1.0 / 2048;
constexpr int kLineSteps = 21, kMostSweeps = 5000;

struct Iterate {
  Vector x, gradient;
  double value = 0;  // with the L1 term
};

double soft_threshold(double v, double by) {
  return v > by ? v - by : v < -by ? v + by : 0.0;
}

// argmin over u of gradient.(u - x) + (u - x)'H(u - x) / 2 + sum l1 |u|, to where no coordinate's derivative is off by
// `tolerance`.
Vector model_minimum(const Vector& l1, const Vector& H, const Iterate& at, double tolerance) {
  const std::size_t n = at.x.size();
  Vector u = at.x, slope = at.gradient;  // slope = gradient + H (u - x)
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double h = H[i * n + i];
      const double next = h > 0 ? soft_threshold(h * u[i] - slope[i], l1[i]) / h : 0.0, change = next - u[i];
      if (change == 0) continue;
      worst = std::max(worst, std::abs(change) * h);
      u[i] = next;
      const double* const row = H.data() + i * n;
      for (std::size_t j = 0; j < n; ++j) slope[j] += change * row[j];
    }
    if (worst <= tolerance) break;
  }
  return u;
}

double absolute_sum(const Vector& v) {
  double sum = 0;
  for (const double e : v) sum += std::abs(e);
  return sum;
}

class Newton {
 public:
  Newton(const NewtonProblem& problem, Vector x0, double rounding)
      : problem_(problem), rounding_(rounding), at_{std::move(x0), {}, 0} {
    at_.gradient.resize(at_.x.size());
    at_.value = evaluate(at_.x, at_.gradient);
  }
  const Iterate& at() const { return at_; }
  double stationarity() const { return largest_magnitude(subgradient(at_)); }

  // The step from here, and by how much the value would fall along it to first order (negative). False: no such step.
  bool find_step() {
    const std::size_t n = at_.x.size();
    hessian_.resize(n * n);
    problem_.curvature(at_.x, hessian_);
    if (problem_.l1.empty()) {
      step_ = at_.gradient;
      for (double& e : step_) e = -e;
      Vector factor = hessian_;
      if (!problem_.solve(factor, step_)) return false;
      predicted_ = dot(at_.gradient, step_);
    } else {
      constexpr double kInner = 1e-3;  // of what is left to gain: the steps converge at this rate
      const Vector target = model_minimum(problem_.l1, hessian_, at_, kInner * stationarity());
      step_ = target;
      add_scaled(-1, at_.x, step_);
      predicted_ = dot(at_.gradient, step_) + l1_norm(problem_.l1, target) - l1_norm(problem_.l1, at_.x);
    }
    return std::isfinite(predicted_) && predicted_ <= 0;
  }

  bool search_line() {
    double t = 1;
    for (int tries = 0; tries < kLineSteps; ++tries, t /= 2) {
      Iterate trial{at_.x, Vector(at_.x.size()), 0};
      add_scaled(t, step_, trial.x);
      trial.value = evaluate(trial.x, trial.gradient);
      const double change = trial.value - at_.value;
      const bool falls = change <= t * kSufficient * predicted_;
      const bool is_level = std::abs(change) <= rounding_ * std::abs(at_.value) &&
                            absolute_sum(subgradient(trial)) < absolute_sum(subgradient(at_));
      if (!falls && !is_level) continue;
      at_ = std::move(trial);
      return true;
    }
    return false;
  }

  // Whether what the step promises is lost in the rounding of the values: there is nothing left to gain.
  bool is_step_rounding() const { return promised_at_most(64 * rounding_); }
  // Whether the step promised to lower the value by at most this part of it.
  bool promised_at_most(double share) const { return -predicted_ <= share * std::max(std::abs(at_.value), 1.0); }

  double step_size() const { return largest_magnitude(step_) / std::max(largest_magnitude(at_.x), 1e-300); }

  // Half of step' H step, with the matrix of where the step began.
  double half_decrement() const {
    const std::size_t n = step_.size();
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) sum += step_[i] * hessian_[i * n + j] * step_[j];
    return sum / 2;
  }

 private:
  Vector subgradient(const Iterate& at) const {
    return problem_.l1.empty() ? at.gradient : smallest_subgradient(problem_.l1, at.x, at.gradient);
  }
  double evaluate(const Vector& x, Vector& gradient) const {
    return problem_.objective(x, gradient) + (problem_.l1.empty() ? 0.0 : l1_norm(problem_.l1, x));
  }

  const NewtonProblem& problem_;  // borrowed for the search
  double rounding_;
  Iterate at_;
  Vector hessian_, step_;
  double predicted_ = 0;
};

}  // namespace

NewtonResult minimize_newton(const NewtonProblem& problem, Vector x0, const NewtonOptions& options,
                             const std::function<void(std::int64_t)>& on_iteration) {
  Newton newton(problem, std::move(x0), options.rounding);
  std::int64_t iteration = 0;
  const auto result = [&](Stop stop) { return NewtonResult{newton.at().x, iteration, stop, newton.stationarity()}; };
  while (iteration < options.max_iter) {
    if (newton.stationarity() == 0) return result(Stop::kConverged);
    if (!newton.find_step()) return result(Stop::kSingular);
    if (!newton.search_line()) return result(newton.is_step_rounding() ? Stop::kConverged : Stop::kLineSearch);
    on_iteration(++iteration);
    if (newton.step_size() <= options.step_rounding) return result(Stop::kConverged);
    if (options.value_tolerance > 0 && newton.promised_at_most(options.value_tolerance)) return result(Stop::kConverged);
    if (newton.stationarity() <= options.gradient_tolerance && newton.half_decrement() <= options.gradient_tolerance)
      return result(Stop::kConverged);
  }
  return result(Stop::kMaxIter);
}

}  // namespace kedge::engine
