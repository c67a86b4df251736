// Chooses and runs the minimiser of a logistic loss.
#include "engine/estimators/linear/logistic_solvers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/estimators/optimizers/lbfgs.h"
#include "engine/estimators/optimizers/newton.h"
#include "engine/estimators/optimizers/owlqn.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kLargestMatrix = 1500;  // columns of a matrix of second derivatives: 18 MB, 0.1 s to factorise
constexpr double kMostGramWork = 2e10;         // multiply-adds an iteration, about a second on one core

constexpr double kValueTolerance = 64 * std::numeric_limits<double>::epsilon();   // scikit-learn's: less is not progress

// Whether tol is below what a change of the value can show: the value above the minimum falls with the square of the gradient.
bool is_beyond_values(double tol) {
  return tol * tol < kValueTolerance;
}

// Multiply-adds a row: of the matrix of second derivatives, and of an evaluation of loss and gradient.
template <class T>
double curvature_work(const LogisticData<T>& data) {
  const double q = static_cast<double>(data.X.cols + 1), k = data.n_classes;
  return (data.n_classes == 2 ? 1 : k * (k + 1) / 2) * q * q / 2;
}
template <class T>
double gradient_work(const LogisticData<T>& data) {
  return 2.0 * static_cast<double>(data.X.cols + 1) * (data.n_classes == 2 ? 1 : data.n_classes);
}

template <class T>
bool is_newton_affordable(const LogisticData<T>& data, std::int64_t size) {
  return !data.is_sparse() && size <= kLargestMatrix && static_cast<double>(data.X.rows) * curvature_work(data) <= kMostGramWork;
}

// Whether the columns differ so much in spread, or are so far from 0 compared with it, that scaling them saves
// iterations.
template <class T>
bool is_scaling_wanted(const Context& ctx, const LogisticData<T>& data) {
  constexpr double kMuch = 100;
  if (data.is_sparse()) return false;
  Array<double> mean(ctx.memory(), data.X.cols), variance(ctx.memory(), data.X.cols);
  ctx.ops<T>().tables->column_moments(data.X, {}, data.weights, mean.view(), variance.view());
  const std::vector<double> centre = mean.to_host(), square = variance.to_host();
  double least = std::numeric_limits<double>::infinity(), most = 0, furthest = 0;
  for (std::size_t j = 0; j < square.size(); ++j) {
    const double spread = std::sqrt(square[j]);
    if (!(spread > 0)) continue;
    least = std::min(least, spread), most = std::max(most, spread), furthest = std::max(furthest, std::abs(centre[j]) / spread);
  }
  return most > kMuch * least || most > kMuch || furthest > kMuch;
}

template <class T>
class LogisticRun {
 public:
  LogisticRun(const Context& ctx, const LogisticData<T>& data, const LogisticPenalty& penalty,
              const LogisticOptions& options)
      : ctx_(ctx),
        data_(data),
        penalty_(penalty),
        options_(options),
        objective_(ctx, data, penalty, options.fit_intercept),
        fit_{options.start, 0} {
    fit_.w.resize(static_cast<std::size_t>(objective_.size()), 0.0);
  }

  std::int64_t size() const { return objective_.size(); }
  LogisticFit take() && { return std::move(fit_); }

  // False: it could not go on, and the best point so far is kept.
  bool newton() {
    const NewtonResult result = newton(options_.max_iter);
    if (result.stop == NewtonResult::Stop::kMaxIter) warn_of_max_iter(result.gradient);
    return result.stop == NewtonResult::Stop::kConverged || result.stop == NewtonResult::Stop::kMaxIter;
  }

  void quasi_newton() {
    const LbfgsOptions options{.max_iter = options_.max_iter - fit_.n_iter,
                               .gradient_tolerance = options_.tol,
                               .value_tolerance = kValueTolerance,
                               .value_rounding = kRounding};
    LbfgsResult result = penalty_.l1.empty() ? minimize_lbfgs(evaluator(), std::move(fit_.w), options, reporter())
                                             : minimize_owlqn(evaluator(), penalty_.l1, std::move(fit_.w), options, reporter());
    fit_ = {std::move(result.x), fit_.n_iter + result.iterations};
    if (result.stop == LbfgsResult::Stop::kMaxIter) warn_of_max_iter(result.gradient);
    if (result.stop == LbfgsResult::Stop::kLineSearch)
      ctx_.warn(fmt::format(
          "LogisticRegression: no step from iteration {} lowers the loss, where the largest element of the gradient is "
          "{:.3g} and tol is {:.3g}; {}",
          fit_.n_iter, result.gradient, options_.tol, advice()));
    is_by_value_ = result.stop == LbfgsResult::Stop::kValue;
  }

  // The values leave L-BFGS where they show no more; Newton's steps need none and go on to the digits of the gradient, where they
  // cost no more than the iterations before them.
  void polish() {
    constexpr std::int64_t kSteps = 5;
    if (!penalty_.l1.empty() || !is_beyond_values(options_.tol)) return;
    std::int64_t steps = std::min(kSteps, options_.max_iter - fit_.n_iter);
    if (std::is_same_v<T, double>) {
      if (!is_by_value_) return;
      const double affordable = static_cast<double>(fit_.n_iter) * gradient_work(data_) / curvature_work(data_);
      steps = std::min(steps, static_cast<std::int64_t>(std::min(affordable, static_cast<double>(kSteps))));
    }
    if (steps > 0) newton(steps);
  }

 private:
  static constexpr double kRounding = 16.0 * static_cast<double>(std::numeric_limits<T>::epsilon());   // of a value

  NewtonResult newton(std::int64_t max_iter) {
    NewtonProblem problem{.objective = evaluator(), .curvature = {}, .solve = {}, .l1 = penalty_.l1};
    problem.curvature = [this](std::span<const double> w, std::span<double> hessian) { objective_.curvature(w, hessian); };
    problem.solve = [this](std::vector<double>& hessian, std::vector<double>& v) {
      const auto n = static_cast<std::int64_t>(v.size());
      Matrix<double> A(ctx_.memory(), n, n, hessian), b(ctx_.memory(), n, 1, v);
      if (!ctx_.ops<double>().factorise->solve_positive(A.view(), b.view())) return false;
      v = b.to_host();
      return true;
    };
    const NewtonOptions options{.max_iter = max_iter,
                                .gradient_tolerance = options_.tol,
                                .rounding = kRounding,
                                .value_tolerance = kValueTolerance,
                                .step_rounding = kRounding / 2};
    NewtonResult result = minimize_newton(problem, std::move(fit_.w), options, reporter());
    fit_ = {result.x, fit_.n_iter + result.iterations};
    return result;
  }

  Objective evaluator() {
    return [this](std::span<const double> w, std::span<double> gradient) {
      ctx_.check_stop();
      return objective_(w, gradient);
    };
  }
  std::function<void(std::int64_t)> reporter() {
    return [this, before = fit_.n_iter](std::int64_t done) {
      ctx_.progress("iterations", before + done, options_.max_iter, "iterations");
    };
  }
  void warn_of_max_iter(double gradient) {
    ctx_.warn(fmt::format(
        "LogisticRegression: did not converge within max_iter = {} iterations: the largest element of the gradient is "
        "{:.3g}, tol is {:.3g}; {}",
        options_.max_iter, gradient, options_.tol, advice()));
  }
  std::string advice() const {
    if (is_scaling_wanted(ctx_, data_)) return "scale the data (StandardScaler) or raise max_iter";
    if (penalty_.l1.empty() && std::ranges::all_of(penalty_.l2, [](double weight) { return weight == 0; }))
      return "raise max_iter, or penalise (C): without a penalty, classes that can be separated have no minimum";
    return "raise max_iter or tol";
  }

  const Context& ctx_;
  const LogisticData<T>& data_;
  const LogisticPenalty& penalty_;
  const LogisticOptions& options_;
  LogisticObjective<T> objective_;
  LogisticFit fit_;
  bool is_by_value_ = false;   // L-BFGS stopped because the value fell no further
};

}  // namespace

template <class T>
LogisticFit minimize_logistic(const Context& ctx, const LogisticData<T>& data, const LogisticPenalty& penalty,
                              const LogisticOptions& options) {
  LogisticRun<T> run(ctx, data, penalty, options);
  const bool is_affordable = is_newton_affordable(data, run.size());
  if (options.solver != "lbfgs" && is_affordable && run.newton()) return std::move(run).take();
  run.quasi_newton();
  if (is_affordable) run.polish();
  return std::move(run).take();
}

template LogisticFit minimize_logistic(const Context&, const LogisticData<float>&, const LogisticPenalty&,
                                       const LogisticOptions&);
template LogisticFit minimize_logistic(const Context&, const LogisticData<double>&, const LogisticPenalty&,
                                       const LogisticOptions&);

}  // namespace kedge::engine
