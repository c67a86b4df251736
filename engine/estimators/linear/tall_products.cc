// One pass a request, centred afterwards.
#include "engine/estimators/linear/tall_products.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace kedge::engine {
namespace {

constexpr double kMostTaken = 0.4;   // of the columns: beyond, all products cost no more, since half of them are the others
constexpr double kMostOff = 0.25;    // squared distance of a mean, in variances: centring then cancels less than a bit
constexpr double kConstant =
    4 * std::numeric_limits<double>::epsilon();   // of the mean: the spread of a constant through rounding

using Columns = std::vector<std::int32_t>;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

}   // namespace

template <class T>
TallProducts<T>::TallProducts(const Context& ctx, const Samples<T>& X, MatrixView<const double> y,
                              VectorView<const double> weights, bool fit_intercept, std::vector<double> mean)
    : ctx_(ctx),
      X_(X),
      d_(X.n_cols()),
      fit_intercept_(fit_intercept),
      mean_(std::move(mean)),
      off_(at(d_), 0.0),
      is_taken_(at(d_)) {
  Backend<double>& ops = ctx.ops<double>();
  Array<double> of_target(ctx.memory(), 2);   // its mean, and the sum of the weights
  of_target.zero();
  if (fit_intercept) ops.rows->precise_means(y, weights, of_target.view().slice(0, 1), of_target.view().slice(1, 1));
  y_mean_ = of_target.to_host()[0];
  const std::int64_t n = y.rows;
  targets_ = Matrix<double>(ctx.memory(), n, 2), roots_ = Array<double>(ctx.memory(), weights.size);
  ops.maps->combine(Binary::kSubtract, y, {of_target.data(), 1, 1}, {targets_.data(), n, 1, 2});
  ops.maps->map(Unary::kExp, 0, y, {targets_.data() + 1, n, 1, 2});   // ones: the target is finite
  ops.maps->map(Unary::kSqrt, 1, {weights.data, weights.size, 1}, {roots_.data(), weights.size, 1});
}

template <class T>
typename TallProducts<T>::Sums TallProducts<T>::sums(const Columns& columns) const {
  ctx_.check_stop();
  std::vector<double> shift = X_.is_affine() ? X_.shift : std::vector<double>(at(d_), 0.0);
  for (std::size_t j = 0; j < shift.size(); ++j) shift[j] += X_.is_affine() ? mean_[j] / X_.scale[j] : mean_[j];
  const Array<double> device_shift(ctx_.memory(), std::span<const double>(shift)),
      scale(ctx_.memory(), std::span<const double>(X_.scale));
  const Design<T> design{.X = std::as_const(X_.table->X).view(),
                         .rows = X_.row_view(),
                         .shift = device_shift.view(),
                         .scale = scale.view(),
                         .weights = roots_.view(),
                         .Y = targets_.view()};
  const std::int64_t p = d_ + 2;
  if (static_cast<std::int64_t>(columns.size()) == p) {
    Matrix<double> G(ctx_.memory(), p, p);
    ctx_.ops<T>().design->gram(design, G.view());
    Sums all{G.to_host(), std::vector<double>(at(p))};
    for (std::size_t j = 0; j < all.squares.size(); ++j) all.squares[j] = all.products[j * (all.squares.size() + 1)];
    return all;
  }
  const Array<std::int32_t> chosen(ctx_.memory(), std::span<const std::int32_t>(columns));
  Matrix<double> products(ctx_.memory(), chosen.size(), p);
  Array<double> squares(ctx_.memory(), p);
  ctx_.ops<T>().design->products(design, chosen.view(), products.view(), squares.view());
  return {products.to_host(), squares.to_host()};
}

template <class T>
void TallProducts<T>::take(const Columns& columns) {
  Columns wanted = columns;
  if (static_cast<double>(columns.size()) > kMostTaken * static_cast<double>(d_)) {
    wanted.clear();
    for (std::int32_t j = 0; j < d_; ++j)
      if (!has(j)) wanted.push_back(j);
  }
  Columns and_targets = wanted;
  const bool is_first = total_ == 0;
  if (is_first) and_targets.insert(and_targets.end(), {static_cast<std::int32_t>(d_), static_cast<std::int32_t>(d_ + 1)});
  Sums found = sums(and_targets);
  if (is_first && !centre(found)) {
    for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += off_[j];
    found = sums(and_targets);
    centre(found);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) keep(found.products.data() + i * at(d_ + 2), wanted[i]);
}

// What the sums with the target and the ones, which are last, tell of the means. False where one of mean_ is too far off.
template <class T>
bool TallProducts<T>::centre(const Sums& found) {
  const std::size_t d = at(d_), p = d + 2;
  const double *const ones = found.products.data() + found.products.size() - p, *const target = ones - p;
  total_ = ones[d + 1], y_squared_ = target[d];
  with_target_.assign(target, target + d), is_constant_.assign(d, false);
  bool is_near = true;
  for (std::size_t j = 0; j < d && fit_intercept_; ++j) {
    off_[j] = ones[j] / total_;
    const double square = found.squares[j] / total_, from_zero = mean_[j] + (X_.is_affine() ? X_.shift[j] * X_.scale[j] : 0.0);
    is_constant_[j] = std::sqrt(square) <= kConstant * std::abs(from_zero);
    is_near = is_near && (is_constant_[j] || off_[j] * off_[j] <= kMostOff * (square - off_[j] * off_[j]));
    with_target_[j] = is_constant_[j] ? 0.0 : target[j] - off_[j] * target[d + 1];
  }
  return is_near;
}

template <class T>
void TallProducts<T>::keep(const double* products, std::int32_t column) {
  const auto c = at(column);
  std::vector<double> row(products, products + d_);
  for (std::size_t j = 0; j < row.size(); ++j)
    row[j] = is_constant_[j] || is_constant_[c] ? 0.0 : row[j] - total_ * off_[c] * off_[j];
  taken_.push_back(column), is_taken_[c] = true, products_.push_back(std::move(row));
}

template <class T>
std::vector<double> TallProducts<T>::slopes(const std::vector<double>& w) const {
  std::vector<double> result = with_target_;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const double coef = w[at(taken_[i])];
    for (std::size_t j = 0; j < result.size() && coef != 0; ++j) result[j] -= coef * products_[i][j];
  }
  return result;
}

template <class T>
Matrix<double> TallProducts<T>::gram(const Context& ctx) const {
  const std::size_t c = taken_.size();
  std::vector<double> G;
  for (std::size_t i = 0; i <= c; ++i) {
    const std::vector<double>& row = i < c ? products_[i] : with_target_;
    for (const std::int32_t j : taken_) G.push_back(row[at(j)]);
    G.push_back(i < c ? with_target_[at(taken_[i])] : y_squared_);
  }
  return Matrix<double>(ctx.memory(), static_cast<std::int64_t>(c) + 1, static_cast<std::int64_t>(c) + 1, G);
}

template <class T>
double TallProducts<T>::intercept(const std::vector<double>& w) const {
  if (!fit_intercept_) return 0;
  long double value = y_mean_;
  for (std::size_t j = 0; j < w.size(); ++j)
    value -= (static_cast<long double>(mean_[j]) + static_cast<long double>(off_[j])) * static_cast<long double>(w[j]);
  return static_cast<double>(value);
}

template class TallProducts<float>;
template class TallProducts<double>;

}   // namespace kedge::engine
