// Semismooth Newton steps with a line search.
#include "engine/estimators/linear/elastic_net_dual.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace kedge::engine {
namespace {

constexpr int kMostSteps = 60, kMostHalvings = 40;
constexpr double kEnough = 1e-4;  // of the decrease that the slope promises

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class DualNewton {
 public:
  DualNewton(const Context& ctx, DesignColumns& columns, const DualProblem& problem, std::vector<double> u)
      : ctx_(ctx), columns_(columns), problem_(problem), u_(std::move(u)), slopes_(columns.products(u_)) {}

  DualPoint run() {
    DualPoint point;
    const double goal = std::max(problem_.tolerance, 1e-14) * std::sqrt(dot(problem_.y, problem_.y));
    for (; point.steps < kMostSteps; ++point.steps) {
      ctx_.check_stop();
      prepare();
      if (std::sqrt(dot(gradient_, gradient_)) <= goal || !move()) break;
    }
    point.coef.assign(slopes_.size(), 0.0);
    for (std::size_t i = 0; i < set_.size(); ++i) point.coef[static_cast<std::size_t>(set_[i])] = coef_[i];
    point.residual = u_;
    for (std::size_t i = 0; i < u_.size(); ++i) point.residual[i] -= gradient_[i];
    return point;
  }

 private:
  double soft(double slope) const {
    if (slope > problem_.l1) return slope - problem_.l1;
    return !problem_.positive && slope < -problem_.l1 ? slope + problem_.l1 : 0.0;
  }

  double value(const std::vector<double>& u, const std::vector<double>& slopes) const {
    double sum = dot(u, u) / 2 - dot(problem_.y, u);
    for (const double slope : slopes) sum += soft(slope) * soft(slope) / (2 * problem_.l2);
    return sum;
  }

  // Support, coefficients, gradient u - y + X w, and the matrix of second derivatives at u.
  void prepare() {
    set_.clear(), coef_.clear();
    for (std::size_t j = 0; j < slopes_.size(); ++j)
      if (const double w = soft(slopes_[j]); w != 0)
        set_.push_back(static_cast<std::int32_t>(j)), coef_.push_back(w / problem_.l2);
    const auto n = u_.size();
    hessian_.assign(n * n, 0.0), gradient_ = u_;
    if (!set_.empty()) {
      hessian_ = columns_.outer(set_).to_host();
      const std::vector<double> fitted = columns_.fitted(set_, coef_);
      for (std::size_t i = 0; i < n; ++i) gradient_[i] += fitted[i];
    }
    for (std::size_t i = 0; i < n; ++i) gradient_[i] -= problem_.y[i];
    for (double& h : hessian_) h /= problem_.l2;
    for (std::size_t i = 0; i < n; ++i) hessian_[i * (n + 1)] += 1;
  }

  // False where no step makes the value smaller: rounding is reached.
  bool move() {
    const auto n = static_cast<std::int64_t>(u_.size());
    Matrix<double> H(ctx_.memory(), n, n, hessian_), b(ctx_.memory(), n, 1, gradient_);
    if (!ctx_.ops<double>().factorise->solve_positive(H.view(), b.view())) return false;
    const std::vector<double> step = b.to_host(), along = columns_.products(step);
    const double before = value(u_, slopes_), slope = dot(step, gradient_);
    double length = 1;
    for (int halving = 0; halving < kMostHalvings; ++halving, length /= 2) {
      std::vector<double> u = u_, slopes = slopes_;
      for (std::size_t i = 0; i < u.size(); ++i) u[i] -= length * step[i];
      for (std::size_t j = 0; j < slopes.size(); ++j) slopes[j] -= length * along[j];
      if (value(u, slopes) > before - kEnough * length * slope) continue;
      u_ = std::move(u), slopes_ = std::move(slopes);
      return true;
    }
    return false;
  }

  const Context& ctx_;
  DesignColumns& columns_;
  const DualProblem& problem_;
  std::vector<double> u_, slopes_, coef_, gradient_, hessian_;
  std::vector<std::int32_t> set_;
};

}  // namespace

DualPoint minimize_dual(const Context& ctx, DesignColumns& columns, const DualProblem& problem,
                        std::vector<double> residual) {
  return DualNewton(ctx, columns, problem, std::move(residual)).run();
}

}  // namespace kedge::engine
