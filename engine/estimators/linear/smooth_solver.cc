// Newton's method and L-BFGS on an equilibrated Cholesky factor.
#include "engine/estimators/linear/smooth_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/core/stop.h"
#include "engine/estimators/optimizers/lbfgs_memory.h"

namespace kedge::engine {
namespace {

using Vector = std::vector<double>;
constexpr double kEps = std::numeric_limits<double>::epsilon();

// H = D U'U D with U upper triangular and U'U of unit diagonal. Rows and columns without curvature count as those of
// the identity.
class Factor {
 public:
  explicit Factor(const Vector& H)
      : n_(static_cast<std::size_t>(std::sqrt(static_cast<double>(H.size())) + 0.5)), d_(n_) {
    for (std::size_t i = 0; i < n_; ++i)
      d_[i] = H[i * n_ + i] > 0 && std::isfinite(H[i * n_ + i]) ? std::sqrt(H[i * n_ + i]) : 1.0;
    constexpr double kLeast = 1e-14, kMost = 1e-2;   // added to the unit diagonal where rounding made it indefinite
    for (double added = 0; !factorise(H, added) && added < kMost; added = std::max(kLeast, 100 * added)) {
    }
  }

  // M'^-1 v, M^-1 v and both, for H = M M'.
  void solve_back(Vector& v) const {
    for (std::size_t i = n_; i-- > 0;) {
      double sum = v[i];
      for (std::size_t j = i + 1; j < n_; ++j) sum -= U_[i * n_ + j] * v[j];
      v[i] = sum / U_[i * n_ + i];
    }
    for (std::size_t i = 0; i < n_; ++i) v[i] /= d_[i];
  }
  void solve_forward(Vector& v) const {
    for (std::size_t i = 0; i < n_; ++i) v[i] /= d_[i];
    for (std::size_t i = 0; i < n_; ++i) {
      v[i] /= U_[i * n_ + i];
      for (std::size_t j = i + 1; j < n_; ++j) v[j] -= U_[i * n_ + j] * v[i];
    }
  }
  void solve(Vector& v) const { solve_forward(v), solve_back(v); }

 private:
  bool factorise(const Vector& H, double added) {
    U_.resize(H.size());
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) U_[i * n_ + j] = H[i * n_ + j] / d_[i] / d_[j];
    for (std::size_t i = 0; i < n_; ++i) U_[i * n_ + i] = 1 + added;
    for (std::size_t k = 0; k < n_; ++k) {
      if (k % 64 == 0) check_job_stop();
      double* const row = U_.data() + k * n_;
      if (!(row[k] > kEps)) return false;
      const double root = std::sqrt(row[k]);
      for (std::size_t j = k; j < n_; ++j) row[j] /= root;
      for (std::size_t i = k + 1; i < n_; ++i) {
        double* const to = U_.data() + i * n_;
        const double factor = row[i];
        for (std::size_t j = i; j < n_; ++j) to[j] -= factor * row[j];
      }
    }
    return true;
  }

  std::size_t n_;
  Vector d_, U_;
};

struct Point {
  Vector x, gradient;
  double value = 0;
};

// Half of what a step along H^-1 gradient lowers the value by to first order.
double half_fall(const Factor& factor, Vector gradient) {
  factor.solve_forward(gradient);
  return dot(gradient, gradient) / 2;
}

// Moves `at` along the step, halved until the value falls enough. False: it does not.
bool search(const Objective& objective, const Factor& factor, const Vector& step, double fall, Point& at) {
  constexpr int kHalvings = 50;
  Point trial{at.x, Vector(at.x.size()), 0};
  double t = 1;
  for (int tries = 0; tries < kHalvings; ++tries, t /= 2) {
    trial.x = at.x;
    add_scaled(t, step, trial.x);
    trial.value = objective(trial.x, trial.gradient);
    const double noise = 1e3 * kEps * std::abs(at.value);
    const bool falls = trial.value <= at.value - 1e-4 * t * 2 * fall;
    const bool is_level = std::abs(trial.value - at.value) <= noise && half_fall(factor, trial.gradient) <= fall;
    if (!falls && !is_level) continue;
    at = std::move(trial);
    return true;
  }
  return false;
}

}   // namespace

SmoothMinimum minimize_curved(const SmoothModel& model, Vector x0, std::int64_t max_iter,
                              const std::function<void(std::int64_t)>& reporter) {
  Point at{std::move(x0), {}, 0};
  const std::size_t n = at.x.size();
  at.gradient.resize(n);
  at.value = model.objective(at.x, at.gradient);
  SmoothMinimum found;
  Vector hessian(n * n);
  while (found.iterations < max_iter && !found.is_converged) {
    model.curvature(at.x, hessian);
    const Factor factor(hessian);
    const double fall = half_fall(factor, at.gradient), rounding = 4 * kEps * std::abs(at.value);
    if (found.iterations == 0) found.fall = fall;
    if (!(fall > 0)) {   // NaN: nothing can be done
      found.is_converged = fall == 0;
      break;
    }
    Vector step = at.gradient;
    factor.solve(step);
    for (double& e : step) e = -e;
    if (!search(model.objective, factor, step, fall, at)) {
      found.is_converged = fall <= 1e3 * rounding;
      break;
    }
    reporter(++found.iterations);
    found.is_converged = fall <= std::max(1e-17 * found.fall, rounding);
  }
  found.x = std::move(at.x);
  return found;
}

SmoothMinimum minimize_rounded(const SmoothModel& model, const Vector& hessian, Vector x0, double fall,
                               std::int64_t max_iter, const std::function<void(std::int64_t)>& reporter) {
  const std::size_t n = x0.size();
  const bool is_plain = hessian.empty();
  const Factor factor(is_plain ? Vector{1.0} : hessian);
  Point first{x0, Vector(n), 0};
  first.value = model.objective(first.x, first.gradient);
  Vector along = first.gradient;
  if (!is_plain) factor.solve_forward(along);
  // L-BFGS makes its first step one unit long: the unit is that of Newton's step.
  const double unit = is_plain ? 1.0 : std::sqrt(dot(along, along));
  if (!(unit > 0)) return {std::move(x0), 0, unit == 0, fall};
  const auto place = [&](std::span<const double> u) {
    Vector x(u.begin(), u.end());
    for (double& e : x) e *= unit;
    if (!is_plain) factor.solve_back(x);
    add_scaled(1, x0, x);
    return x;
  };
  bool is_first = true;
  double least = first.value;
  const Objective rounded = [&](std::span<const double> u, std::span<double> gradient) {
    Point at{is_first ? first.x : place(u), first.gradient, first.value};
    if (!is_first) at.value = model.objective(at.x, at.gradient);
    is_first = false;
    least = std::min(least, at.value);
    if (!std::isfinite(at.value)) {   // not defined there: a level that the line search steps back from
      std::ranges::fill(gradient, 0.0);
      return least + std::max(std::abs(least), 1.0);
    }
    if (!is_plain) factor.solve_forward(at.gradient);
    for (std::size_t i = 0; i < n; ++i) gradient[i] = unit * at.gradient[i];
    return at.value;
  };
  // Below what rounding moves the value by, a line search finds no step that lowers it.
  const double left = std::max(1e-16 * fall, 16 * kEps * std::abs(first.value));
  const double size = std::sqrt(2 * left / static_cast<double>(n));
  const LbfgsOptions options{.max_iter = max_iter, .gradient_tolerance = unit * size, .value_tolerance = 4 * kEps};
  LbfgsResult result = minimize_lbfgs(rounded, Vector(n, 0.0), options, reporter);
  return {place(result.x), result.iterations,
          result.stop == LbfgsResult::Stop::kGradient || result.stop == LbfgsResult::Stop::kValue, fall};
}

}   // namespace kedge::engine
