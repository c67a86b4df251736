// Chooses and runs the minimiser of a logistic loss.
#include "engine/estimators/logistic_solvers.h"

#include <fmt/core.h>

#include <limits>
#include <type_traits>
#include <utility>

#include "engine/estimators/lbfgs.h"
#include "engine/estimators/newton.h"
#include "engine/estimators/owlqn.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kLargestMatrix = 1500;  // columns of a matrix of second derivatives: 18 MB, 0.1 s to factorise
constexpr double kMostGramWork = 2e10;         // multiply-adds an iteration, about a second on one core

constexpr double kUsualValueTolerance = 64 * std::numeric_limits<double>::epsilon();  // scikit-learn's

// Whether tol is below what a change of the value can show: the value above the minimum falls with the square of the gradient.
bool is_beyond_values(double tol) {
  return tol * tol < kUsualValueTolerance;
}

template <class T>
bool is_newton_affordable(const LogisticData<T>& data, std::int64_t size) {
  const double q = static_cast<double>(data.X.cols + 1), k = data.n_classes;
  const double pairs = data.n_classes == 2 ? 1 : k * (k + 1) / 2;
  return !data.is_sparse() && size <= kLargestMatrix && pairs * static_cast<double>(data.X.rows) * q * q / 2 <= kMostGramWork;
}

template <class T>
class LogisticRun {
 public:
  LogisticRun(const Context& ctx, const LogisticData<T>& data, const LogisticPenalty& penalty, const LogisticOptions& options)
      : ctx_(ctx),
        penalty_(penalty),
        options_(options),
        objective_(ctx, data, penalty, options.fit_intercept),
        fit_{std::vector<double>(static_cast<std::size_t>(objective_.size())), 0} {}

  std::int64_t size() const { return objective_.size(); }
  LogisticFit take() && { return std::move(fit_); }

  // False: it could not go on, and the best point so far is kept.
  bool newton() { return newton(options_.max_iter); }

  // The loss in float leaves L-BFGS where its values show no more; Newton's steps need none and go on to the digits of the
  // gradient.
  void polish() {
    constexpr std::int64_t kSteps = 5;
    if (std::is_same_v<T, float> && penalty_.l1.empty() && is_beyond_values(options_.tol)) newton(kSteps);
  }

  void quasi_newton() {
    const LbfgsOptions options{
        .max_iter = options_.max_iter - fit_.n_iter,
        .gradient_tolerance = options_.tol,
        .value_tolerance = std::is_same_v<T, double> && is_beyond_values(options_.tol) ? 0.0 : kUsualValueTolerance};
    LbfgsResult result = penalty_.l1.empty() ? minimize_lbfgs(evaluator(), std::move(fit_.w), options, reporter())
                                             : minimize_owlqn(evaluator(), penalty_.l1, std::move(fit_.w), options, reporter());
    fit_ = {std::move(result.x), fit_.n_iter + result.iterations};
    if (result.stop == LbfgsResult::Stop::kMaxIter) warn_of_max_iter();
    if (result.stop == LbfgsResult::Stop::kLineSearch)
      ctx_.warn(fmt::format("LogisticRegression: the line search stopped after {} iterations; scale the data", fit_.n_iter));
  }

 private:
  bool newton(std::int64_t max_iter) {
    NewtonProblem problem{.objective = evaluator(), .curvature = {}, .solve = {}, .l1 = penalty_.l1};
    problem.curvature = [this](std::span<const double> w, std::span<double> hessian) { objective_.curvature(w, hessian); };
    problem.solve = [this](std::vector<double>& hessian, std::vector<double>& v) {
      const auto n = static_cast<std::int64_t>(v.size());
      Matrix<double> A(ctx_.memory(), n, n, hessian), b(ctx_.memory(), n, 1, v);
      if (!ctx_.ops<double>().solve_positive(A.view(), b.view())) return false;
      v = b.to_host();
      return true;
    };
    const NewtonOptions options{.max_iter = max_iter,
                                .gradient_tolerance = options_.tol,
                                .rounding = 16.0 * static_cast<double>(std::numeric_limits<T>::epsilon()),
                                .step_rounding = 8.0 * static_cast<double>(std::numeric_limits<T>::epsilon())};
    NewtonResult result = minimize_newton(problem, std::move(fit_.w), options, reporter());
    fit_ = {std::move(result.x), fit_.n_iter + result.iterations};
    if (result.stop == NewtonResult::Stop::kMaxIter && max_iter == options_.max_iter) warn_of_max_iter();
    return result.stop == NewtonResult::Stop::kConverged || result.stop == NewtonResult::Stop::kMaxIter;
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
  void warn_of_max_iter() {
    ctx_.warn(
        fmt::format("LogisticRegression: did not converge within max_iter = {} iterations; scale the data or raise max_iter",
                    options_.max_iter));
  }

  const Context& ctx_;
  const LogisticPenalty& penalty_;
  const LogisticOptions& options_;
  LogisticObjective<T> objective_;
  LogisticFit fit_;
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
