// Fits the coefficients of a margin problem: from a sample where rows are many, then on all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/estimators/linear/margin_problem.h"
#include "engine/estimators/linear/smooth_solver.h"

namespace kedge::engine {

// Columns less their means (with an intercept that is free), times powers of two that bring their spread near 1: exact,
// and the answer does not depend on units. Constant columns get the factor 0.
struct MarginColumns {
  std::vector<double> shift, scale;
};
template <class T>
MarginColumns margin_columns(const Context& ctx, const Samples<T>& X, bool centred) {
  const Moments moments = column_moments(ctx, X);
  MarginColumns columns{std::vector<double>(moments.mean.size(), 0.0), {}};
  for (std::size_t j = 0; j < moments.mean.size(); ++j) {
    const double deviation = std::sqrt(moments.variance[j]), mean = moments.mean[j];
    const bool is_constant = deviation <= 1e-15 * std::abs(mean);
    const double spread = centred ? (is_constant ? 0.0 : deviation) : std::hypot(deviation, mean);
    columns.scale.push_back(spread > 0 && std::isfinite(spread) ? std::ldexp(1.0, -std::ilogb(spread)) : 0.0);
    if (centred) columns.shift[j] = mean;
  }
  return columns;
}

// The coefficients of the columns as the samples have them, and the intercept, which v ends with where there is one.
struct MarginLine {
  std::vector<double> coef;
  double intercept = 0;
};
inline MarginLine line_of(const MarginColumns& columns, const std::vector<double>& v) {
  MarginLine line;
  const std::size_t d = columns.scale.size();
  long double intercept = v.size() > d ? v[d] : 0.0;
  for (std::size_t j = 0; j < d; ++j) {
    line.coef.push_back(v[j] * columns.scale[j]);
    intercept -= static_cast<long double>(columns.shift[j]) * static_cast<long double>(line.coef.back());
  }
  line.intercept = static_cast<double>(intercept);
  return line;
}

// value(sums) + sum of penalty[j] v[j]^2 / 2; the loss's derivatives are `factor` times those that it writes. Borrows
// what it is given.
template <class Rows>
SmoothModel penalised_model(const Context& ctx, Rows& rows, const MarginLoss& loss,
                            std::function<double(const MarginSums&)> value, double factor,
                            const std::vector<double>& penalty) {
  SmoothModel model;
  model.objective = [&, value = std::move(value), factor](std::span<const double> v, std::span<double> gradient) {
    const MarginSums sums = rows.sums(ctx, loss, v);
    double total = value(sums);
    for (std::size_t j = 0; j < v.size(); ++j) {
      gradient[j] = factor * sums.slopes[j] + penalty[j] * v[j];
      total += penalty[j] * v[j] * v[j] / 2;
    }
    return total;
  };
  model.curvature = [&, factor](std::span<const double> v, std::span<double> hessian) {
    const std::vector<double> gram = rows.curvature(ctx, loss, v);
    for (std::size_t e = 0; e < gram.size(); ++e) hessian[e] = factor * gram[e];
    for (std::size_t j = 0; j < v.size(); ++j) hessian[j * (v.size() + 1)] += penalty[j];
  };
  return model;
}

// Minimises make_model(problem, share) from `start`; share: of all weight, what the problem's rows have. A model must
// not outlive its problem. With many rows the model of a sample is minimised first: it gives the start and the
// variables for the rows that remain, so that all rows are read a few times only.
template <class T, class MakeModel>
SmoothMinimum minimize_margins(const Context& ctx, MarginProblem<T>& problem, const MakeModel& make_model,
                               std::vector<double> start, std::int64_t max_iter) {
  constexpr std::int64_t kFewest = 4096, kRowsOfColumn = 128, kWorth = 4;
  const auto size = static_cast<std::int64_t>(start.size()), count = std::max(kFewest, kRowsOfColumn * size);
  std::int64_t before = 0;
  const auto reporter = [&](std::int64_t done) { ctx.progress("iterations", before + done, max_iter, "iterations"); };
  const SmoothModel all = make_model(problem, 1.0);
  if (size > kMostCurved) return minimize_rounded(all, {}, std::move(start), 1.0, max_iter, reporter);
  if (problem.n_rows() <= kWorth * count) return minimize_curved(all, std::move(start), max_iter, reporter);
  auto sample = problem.sample(ctx, count);
  const double share = std::accumulate(sample.weights.begin(), sample.weights.end(), 0.0) / problem.weight_sum();
  if (!(share > 0)) return minimize_curved(all, std::move(start), max_iter, reporter);
  const auto d = static_cast<std::size_t>(sample.X.n_cols());
  MarginProblem<double> some(ctx, sample.X, std::move(sample.y), std::move(sample.weights), std::vector<double>(d, 0.0),
                             std::vector<double>(d, 1.0), problem.ones(), std::move(sample.signs));
  const SmoothModel part = make_model(some, share);
  const SmoothMinimum first = minimize_curved(part, start, max_iter, reporter);
  std::vector<double> hessian(start.size() * start.size()), gradient(start.size());
  part.curvature(first.x, hessian);
  if (!std::isfinite(all.objective(first.x, gradient)))
    return minimize_curved(all, std::move(start), max_iter, reporter);
  before = first.iterations;
  SmoothMinimum found =
      minimize_rounded(all, hessian, first.x, first.fall, std::max<std::int64_t>(max_iter - before, 1), reporter);
  found.iterations += before;
  if (found.is_converged || found.iterations >= max_iter) return found;
  before = found.iterations;
  SmoothMinimum last = minimize_curved(all, std::move(found.x), max_iter - before, reporter);
  last.iterations += before;
  return last;
}

}   // namespace kedge::engine
