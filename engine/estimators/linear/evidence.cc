// The updates, and the regression that is made of products alone.
#include "engine/estimators/linear/evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "engine/core/array.h"
#include "engine/estimators/linear/bayesian_model.h"

namespace kedge::engine {
namespace {

using Vector = std::vector<double>;
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int kMostIterations = 300;   // and the tolerance: BayesianRidge's defaults
constexpr double kTolerance = 1e-3;

}   // namespace

void drop_rounding(Vector& squares) {
  const double least = static_cast<double>(squares.size()) * kEps * std::max(squares.back(), 0.0);
  for (double& square : squares) square = square > least ? square : 0.0;
}

void Evidence::solve(const EvidenceBasis& basis) {
  const double ratio = lambda / alpha;
  residual = basis.rest, along.resize(basis.squares.size());
  for (std::size_t k = 0; k < along.size(); ++k) {
    const double square = basis.squares[k], left = basis.along[k] * ratio / (square + ratio);
    along[k] = std::sqrt(square) * basis.along[k] / (square + ratio);
    residual += left * left;
  }
}

double Evidence::coef_squares() const {
  return std::inner_product(along.begin(), along.end(), along.begin(), 0.0);
}

void Evidence::update(const EvidenceBasis& basis, const EvidencePriors& p) {
  double used = 0;   // degrees of freedom
  for (const double square : basis.squares) used += alpha * square / (lambda + alpha * square);
  lambda = (used + 2 * p.lambda_1) / (coef_squares() + 2 * p.lambda_2);
  alpha = (rows - used + 2 * p.alpha_1) / (residual + 2 * p.alpha_2);
}

double Evidence::score(const EvidenceBasis& basis, const EvidencePriors& p, std::int64_t n_cols) const {
  const double d = static_cast<double>(n_cols);
  double log_det = -static_cast<double>(n_cols - static_cast<std::int64_t>(basis.squares.size())) * std::log(lambda);
  for (const double square : basis.squares) log_det -= std::log(lambda + alpha * square);
  return p.lambda_1 * std::log(lambda) - p.lambda_2 * lambda + p.alpha_1 * std::log(alpha) - p.alpha_2 * alpha +
         0.5 * (d * std::log(lambda) + rows * std::log(alpha) - alpha * residual - lambda * coef_squares() + log_det -
                rows * std::log(2 * std::numbers::pi));
}

Vector coef_of_greatest_evidence(const Context& ctx, const Vector& gram, const Vector& products, double target_squares,
                                 double n_rows) {
  const std::size_t m = products.size();
  const auto d = static_cast<std::int64_t>(m);
  Matrix<double> vectors(ctx.memory(), d, d, gram);   // then rows: the v_k
  Array<double> lambda(ctx.memory(), d);
  ctx.ops<double>().factorise->eigh(vectors.view(), lambda.view());
  const Vector V = vectors.to_host();
  EvidenceBasis basis{.squares = lambda.to_host(), .along = {}, .rest = target_squares};
  drop_rounding(basis.squares);
  for (std::size_t k = 0; k < m; ++k) {
    const double product =
        std::inner_product(products.begin(), products.end(), V.begin() + static_cast<std::ptrdiff_t>(k * m), 0.0);
    basis.along.push_back(basis.squares[k] > 0 ? product / std::sqrt(basis.squares[k]) : 0.0);
    basis.rest -= basis.along[k] * basis.along[k];
  }
  basis.rest = std::max(basis.rest, 0.0);
  const auto combined = [&](const Vector& along) {
    Vector coef(m, 0.0);
    for (std::size_t k = 0; k < m; ++k)
      for (std::size_t j = 0; j < m; ++j) coef[j] += along[k] * V[k * m + j];
    return coef;
  };
  Evidence found{
      .alpha = 1 / (target_squares / n_rows + kEps), .lambda = 1, .residual = 0, .rows = n_rows, .along = {}};
  Vector before;
  for (int i = 0; i < kMostIterations; ++i) {
    found.solve(basis);
    const Vector coef = combined(found.along);
    found.update(basis, {});
    if (i > 0 && total_change(before, coef) < kTolerance) break;
    before = coef;
  }
  found.solve(basis);
  return combined(found.along);
}

}   // namespace kedge::engine
