// Householder's QR with column pivoting in DoubleDouble.
#include "engine/estimators/linear/precise_least_squares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/estimators/linear/double_double.h"

namespace kedge::engine {
namespace {

using Column = std::vector<DoubleDouble>;

DoubleDouble dot(const Column& a, const Column& b, std::size_t first) {
  DoubleDouble sum;
  for (std::size_t i = first; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The columns of X and then y: centred, weighted, each multiplied by a power of two that brings its norm near 1.
struct Problem {
  std::vector<Column> columns;
  Column mean;
  std::vector<double> scale;
};

Problem make_problem(std::span<const double> X, std::size_t n, std::size_t d, std::span<const double> y,
                     std::span<const double> weights, bool fit_intercept) {
  Problem p{.columns = std::vector<Column>(d + 1, Column(n)), .mean = Column(d + 1), .scale = std::vector<double>(d + 1, 1.0)};
  Column roots;
  DoubleDouble total(static_cast<double>(n));
  if (!weights.empty()) {
    total = {};
    for (const double w : weights) total += w, roots.push_back(square_root(w));
  }
  for (std::size_t j = 0; j <= d; ++j) {
    Column& column = p.columns[j];
    for (std::size_t i = 0; i < n; ++i) column[i] = j < d ? X[i * d + j] : y[i];
    if (fit_intercept) {
      for (std::size_t i = 0; i < n; ++i) p.mean[j] += weights.empty() ? column[i] : column[i] * DoubleDouble(weights[i]);
      p.mean[j] = p.mean[j] / total;
      for (DoubleDouble& v : column) v -= p.mean[j];
    }
    double largest = 0;
    for (const DoubleDouble& v : column) largest = std::max(largest, std::abs(v.high));
    if (largest > 0) p.scale[j] = std::ldexp(1.0, -std::ilogb(largest));
    for (std::size_t i = 0; i < n; ++i) {
      column[i] = {column[i].high * p.scale[j], column[i].low * p.scale[j]};
      if (!roots.empty()) column[i] = column[i] * roots[i];
    }
  }
  return p;
}

// Makes columns[k] a multiple of a unit vector from element k on, and reflects the later columns and y with it.
void reflect(std::vector<Column>& columns, std::size_t k) {
  Column& v = columns[k];
  DoubleDouble diagonal = square_root(dot(v, v, k));
  if (v[k].high > 0) diagonal = -diagonal;
  v[k] -= diagonal;
  const DoubleDouble factor = DoubleDouble(1.0) / (diagonal * v[k]);   // -2 / v'v
  for (std::size_t j = k + 1; j < columns.size(); ++j) {
    const DoubleDouble along = dot(v, columns[j], k) * factor;
    for (std::size_t i = k; i < v.size(); ++i) columns[j][i] += along * v[i];
  }
  v[k] = diagonal;
}

}   // namespace

std::optional<PreciseSolution> precise_least_squares(std::span<const double> X, std::int64_t n_rows, std::int64_t n_cols,
                                                     std::span<const double> y, std::span<const double> weights,
                                                     bool fit_intercept, double cutoff) {
  const auto n = static_cast<std::size_t>(n_rows), d = static_cast<std::size_t>(n_cols);
  if (n < d) return std::nullopt;
  Problem p = make_problem(X, n, d, y, weights, fit_intercept);
  std::vector<std::size_t> order(d);
  std::iota(order.begin(), order.end(), std::size_t{0});
  double first = 0;
  for (std::size_t k = 0; k < d; ++k) {
    std::size_t pivot = k;
    double norm = 0, largest = -1;
    for (std::size_t j = k; j < d; ++j) {
      double squared = 0;   // of what is left of the column; double is enough to choose
      for (std::size_t i = k; i < n; ++i) squared += p.columns[j][i].high * p.columns[j][i].high;
      if (squared > largest) largest = squared, pivot = j, norm = std::sqrt(squared);
    }
    if (k == 0) first = norm;
    if (!(norm > cutoff * first)) return std::nullopt;
    std::swap(p.columns[k], p.columns[pivot]);
    std::swap(order[k], order[pivot]);
    reflect(p.columns, k);
  }
  Column solution(d);
  for (std::size_t k = d; k-- > 0;) {
    DoubleDouble value = p.columns[d][k];
    for (std::size_t j = k + 1; j < d; ++j) value -= p.columns[j][k] * solution[j];
    solution[k] = value / p.columns[k][k];
  }
  PreciseSolution result{.coef = std::vector<double>(d)};
  DoubleDouble intercept = p.mean[d];
  for (std::size_t k = 0; k < d; ++k) {
    const DoubleDouble w = solution[k] * DoubleDouble(p.scale[order[k]]) / DoubleDouble(p.scale[d]);
    result.coef[order[k]] = static_cast<double>(w);
    intercept -= p.mean[order[k]] * w;
  }
  result.intercept = static_cast<double>(intercept);
  return result;
}

}   // namespace kedge::engine
