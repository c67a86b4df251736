// The three ways to a linear support vector machine: squared losses with L2 or L1, and losses with corners.
#include "engine/estimators/linear/linear_svm_solver.h"

#include <fmt/core.h>

#include <cmath>
#include <numeric>

#include "engine/estimators/linear/envelope_fit.h"
#include "engine/estimators/linear/margin_fit.h"

namespace kedge::engine {
namespace {

// With the residual r = y - margin (of classes 1 - sign * margin): r^2 where r is positive, or, of a tube, (|r| -
// epsilon)^2 outside of it. Halved, so that the derivative is minus the distance itself.
class SquaredDistance final : public MarginLoss {
 public:
  SquaredDistance(const Context& ctx, bool has_tube, double epsilon)
      : has_tube_(has_tube), constants_(ctx, constants(has_tube ? epsilon : 0.0)) {}

  void write(const LaneMath& math, const MarginRows& rows, const MarginParts& out) const override {
    write_distance(math, rows, out.first);
    math.multiply(out.first, rows.weights, out.second), math.multiply(out.first, out.second, out.first);
    math.subtract(out.second, out.second, out.slope), math.subtract(out.slope, out.second, out.slope);
  }
  void write_curvature(const LaneMath& math, const MarginRows& rows, MatrixView<double> out) const override {
    write_distance(math, rows, out);
    math.abs(out, out), math.above(out, constants_.slice(2, kLane), out);
    math.multiply(out, rows.weights, out);
  }

 private:
  static std::vector<double> constants(double epsilon) {
    std::vector<double> all{epsilon, -epsilon};
    all.insert(all.end(), static_cast<std::size_t>(kLane), 0.0);
    return all;
  }
  void write_distance(const LaneMath& math, const MarginRows& rows, MatrixView<double> out) const {
    math.subtract(rows.y, rows.z, rows.z);
    if (!has_tube_) return math.most(rows.z, constants_[0], out);
    math.least(rows.z, constants_[0], out), math.most(out, constants_[1], out), math.subtract(rows.z, out, out);
  }

  bool has_tube_;
  LaneConstants constants_;
};

// Columns times powers of two, uncentred: the intercept is penalised, so that the origin matters.
struct Setting {
  MarginColumns columns;
  std::vector<double> penalty;   // of the scaled columns, and of the intercept's
};
template <class T>
Setting setting_of(const Context& ctx, const Samples<T>& X, const SvmOptions& options) {
  Setting made{margin_columns(ctx, X, false), {}};
  for (const double scale : made.columns.scale) made.penalty.push_back(scale * scale);
  if (options.intercept_scaling > 0) made.penalty.push_back(1.0);   // the column of ones holds intercept_scaling
  return made;
}

template <class T>
SmoothMinimum fit_squared(const Context& ctx, MarginProblem<T>& problem, const Setting& setting,
                          const SvmOptions& options) {
  const SquaredDistance loss(ctx, options.has_tube, options.epsilon);
  const auto make_model = [&](auto& rows, double share) {
    const double C = options.C / share;
    return penalised_model(
        ctx, rows, loss, [C](const MarginSums& sums) { return C * sums.first; }, 2 * C, setting.penalty);
  };
  return minimize_margins(ctx, problem, make_model, std::vector<double>(setting.penalty.size(), 0.0), options.max_iter);
}

// |w|_1 in place of the squares, in variables whose columns are scaled.
template <class T>
SmoothMinimum fit_absolute(const Context& ctx, MarginProblem<T>& problem, const Setting& setting,
                           const SvmOptions& options) {
  const SquaredDistance loss(ctx, options.has_tube, options.epsilon);
  const std::vector<double> none(setting.penalty.size(), 0.0);
  const SmoothModel model = penalised_model(
      ctx, problem, loss, [&](const MarginSums& sums) { return options.C * sums.first; }, 2 * options.C, none);
  NewtonProblem newton{.objective = model.objective, .curvature = model.curvature, .solve = {}, .l1 = {}};
  for (const double square : setting.penalty) newton.l1.push_back(std::sqrt(square));
  std::vector<double> start(setting.penalty.size(), 0.0), gradient(start.size());
  model.objective(start, gradient);
  double size = 0;
  for (const double slope : gradient) size = std::max(size, std::abs(slope));
  const NewtonResult found = minimize_newton(
      newton, std::move(start),
      {.max_iter = options.max_iter, .gradient_tolerance = 1e-10 * size, .value_tolerance = 1e-14},
      [&](std::int64_t done) { ctx.check_stop(), ctx.progress("iterations", done, options.max_iter, "iterations"); });
  return {found.x, found.iterations, found.stop != NewtonResult::Stop::kMaxIter, 0};
}

}   // namespace

template <class T>
SvmLine fit_svm(const Context& ctx, const char* owner, const Samples<T>& X, const std::vector<double>& y,
                const std::vector<double>& weights, const SvmOptions& options) {
  const Setting setting = setting_of(ctx, X, options);
  std::vector<double> targets = options.has_tube ? y : std::vector<double>(y.size(), 1.0);
  MarginProblem<T> problem(ctx, X, std::move(targets), weights, setting.columns.shift, setting.columns.scale,
                           options.intercept_scaling, options.has_tube ? std::vector<double>() : y);
  SmoothMinimum found;
  if (options.is_squared) {
    found = options.is_l1 ? fit_absolute(ctx, problem, setting, options) : fit_squared(ctx, problem, setting, options);
  } else {
    CornerLoss loss{.low = options.has_tube ? -options.C : 0.0, .high = options.C, .width = options.epsilon};
    double size = 0;
    for (const double value : problem.targets()) size += std::abs(value) / static_cast<double>(y.size());
    CornerMinimum corners =
        minimize_corners(ctx, problem, loss, setting.penalty, std::vector<double>(setting.penalty.size(), 0.0), size,
                         {.max_iter = options.max_iter});
    found = {std::move(corners.v), corners.iterations, corners.is_converged, 0};
  }
  if (!found.is_converged)
    ctx.warn(fmt::format("{}: did not converge within max_iter = {} iterations; scale the columns or lower C", owner,
                         options.max_iter));
  SvmLine line{.n_iter = found.iterations};
  for (std::size_t j = 0; j < setting.columns.scale.size(); ++j)
    line.coef.push_back(found.x[j] * setting.columns.scale[j]);
  if (options.intercept_scaling > 0) line.intercept = options.intercept_scaling * found.x.back();
  return line;
}

template SvmLine fit_svm(const Context&, const char*, const Samples<float>&, const std::vector<double>&,
                         const std::vector<double>&, const SvmOptions&);
template SvmLine fit_svm(const Context&, const char*, const Samples<double>&, const std::vector<double>&,
                         const std::vector<double>&, const SvmOptions&);

}   // namespace kedge::engine
