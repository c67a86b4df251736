// PLSRegression: directions found in a triangle, rotations, and scores.
#include "engine/estimators/linear/pls_regression.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = PlsParams;
using Vector = std::vector<double>;
constexpr const char* kName = "PLSRegression";
constexpr double kNothing =
    10 * std::numeric_limits<double>::epsilon();   // of the target's spread: no more is left of it

const ParamSet<P>& param_set() {
  static const ParamSet<P> set = ParamSet<P>(kName)
                                     .add("n_components", &P::n_components, at_least(1), "Number of directions.")
                                     .add("scale", &P::scale, "Divide columns and target by their deviations.")
                                     .ignore("max_iter", std::int64_t{500}, {integer_form(at_least(1))})
                                     .ignore("tol", 1e-6, {number_form(at_least(0))})
                                     .ignore("copy", true, {boolean_form()});
  return set;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Directions of a design with the same products as the rows: p x p with p = d + 1, the target last.
struct Directions {
  Vector weights, loadings;   // a row each
  Vector y_weights, y_loadings;
};

class Deflation {
 public:
  Deflation(Vector rows, std::size_t d) : rows_(std::move(rows)), d_(d), p_(d + 1), y_(p_) {
    for (std::size_t i = 0; i < p_; ++i) y_[i] = rows_[i * p_ + d];
    total_ = std::sqrt(dot(y_, y_));
  }
  bool has_target() const { return std::sqrt(dot(y_, y_)) > kNothing * std::max(total_, 1e-300); }

  // False where no column has anything in common with what is left.
  bool take(Directions& found) {
    Vector w(d_, 0.0), score(p_, 0.0), loading(d_, 0.0);
    for (std::size_t i = 0; i < p_; ++i)
      for (std::size_t j = 0; j < d_; ++j) w[j] += rows_[i * p_ + j] * y_[i];
    const double size = std::sqrt(dot(w, w));
    if (!(size > kNothing * total_ * total_)) return false;
    const double largest = *std::ranges::max_element(w, {}, [](double v) { return std::abs(v); });
    for (double& v : w) v = largest < 0 ? -v / size : v / size;
    for (std::size_t i = 0; i < p_; ++i) score[i] = dot(std::span(rows_).subspan(i * p_, d_), w);
    const double squares = dot(score, score);
    for (std::size_t i = 0; i < p_; ++i)
      for (std::size_t j = 0; j < d_; ++j) loading[j] += score[i] * rows_[i * p_ + j] / squares;
    const double y_loading = dot(score, y_) / squares;
    for (std::size_t i = 0; i < p_; ++i) {
      for (std::size_t j = 0; j < d_; ++j) rows_[i * p_ + j] -= score[i] * loading[j];
      y_[i] -= score[i] * y_loading;
    }
    found.weights.insert(found.weights.end(), w.begin(), w.end());
    found.loadings.insert(found.loadings.end(), loading.begin(), loading.end());
    found.y_weights.push_back(y_loading), found.y_loadings.push_back(y_loading);
    return true;
  }

 private:
  Vector rows_;
  std::size_t d_, p_;
  Vector y_;
  double total_ = 0;
};

// W (P'W)^-1, by component: rows of W, P and the result are components. P'W is a unit upper triangle, for each
// direction is orthogonal to the loadings before its own.
Vector rotated(const Vector& W, const Vector& P, std::size_t d, std::size_t count) {
  Vector rotations = W;
  for (std::size_t k = 0; k < count; ++k) {
    const std::span<double> own = std::span(rotations).subspan(k * d, d);
    for (std::size_t i = 0; i < k; ++i) {
      const double along = dot(std::span(P).subspan(i * d, d), std::span(W).subspan(k * d, d));
      for (std::size_t j = 0; j < d; ++j) own[j] -= along * rotations[i * d + j];
    }
    const double length = dot(std::span(P).subspan(k * d, d), std::span(W).subspan(k * d, d));
    for (double& v : own) v /= length;
  }
  return rotations;
}

// components x cols as cols x components.
schema::Value by_column(const Vector& rows, std::size_t count) {
  const std::size_t cols = rows.size() / std::max<std::size_t>(1, count);
  Vector turned(rows.size());
  for (std::size_t e = 0; e < rows.size(); ++e) turned[e % cols * count + e / cols] = rows[e];
  return rows_value(turned, static_cast<std::int64_t>(count));
}

}   // namespace

template <class T>
PLSRegression<T>::PLSRegression(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo PLSRegression<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "cross_decomposition",
          .doc = "Regression on the directions of the columns that have most in common with the target.",
          .params = param_set().infos(),
          .attributes = {"coef_", "intercept_", "n_iter_", "x_loadings_", "x_rotations_", "x_scores_", "x_weights_",
                         "y_loadings_", "y_rotations_", "y_scores_", "y_weights_"},
          .deviations = {"There is one target, so that no iterations are needed: max_iter and tol have no influence.",
                         "float32 input is solved in double."}};
}

template <class T>
MemoryNeed PLSRegression<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t k = std::min(memory::integer(step, "n_components", 2), std::max<std::int64_t>(1, X.cols));
  MemoryNeed need = memory::makes(X, k, bytes_of(X.rows, 6 * k + 4, memory::kDouble));
  need.work += X.copy() + memory::block(X) + memory::answers(X) + 8 * memory::square(X.cols + 1);
  return need;
}

template <class T>
void PLSRegression<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X, 2);
  const std::int64_t most = std::min(X.n_rows(), X.n_cols());
  require(params_.n_components <= most, schema::ErrorCode::kBadData,
          "{}: n_components is {}, must be at most {}, the smaller number of rows and columns", kName,
          params_.n_components, most);
  const LinearProblem<T> problem(ctx, kName, X, y.device_values(ctx), {}, true, LinearProblem<T>::Moments::kSpread);
  const auto d = static_cast<std::size_t>(X.n_cols()), p = d + 1,
             count = static_cast<std::size_t>(params_.n_components);
  const auto n = static_cast<double>(X.n_rows());
  Vector rows = problem.triangle(ctx).to_host(), factor(p, 1.0);
  double y_squares = 0;
  for (std::size_t i = 0; i < p; ++i) y_squares += rows[i * p + d] * rows[i * p + d];
  for (std::size_t j = 0; j < d; ++j) {
    const double deviation = problem.spread()[j] * std::sqrt(n / (n - 1));
    factor[j] = deviation == 0 ? 0.0 : params_.scale ? 1 / deviation : 1.0;   // 0: what is there is rounding
  }
  const double y_scale = params_.scale && y_squares > 0 ? std::sqrt(y_squares / (n - 1)) : 1.0;
  factor[d] = 1 / y_scale;
  for (std::size_t e = 0; e < rows.size(); ++e) rows[e] *= factor[e % p];
  Directions found;
  Deflation deflation(std::move(rows), d);
  for (n_used_ = 0; n_used_ < params_.n_components; ++n_used_) {
    ctx.check_stop();
    if (!deflation.has_target() || !deflation.take(found)) {
      ctx.warn(fmt::format("{}: nothing is left of the target after {} components", kName, n_used_));
      break;
    }
  }
  x_weights_ = std::move(found.weights), x_loadings_ = std::move(found.loadings);
  y_weights_ = std::move(found.y_weights), y_loadings_ = std::move(found.y_loadings);
  x_rotations_ = rotated(x_weights_, x_loadings_, d, static_cast<std::size_t>(n_used_));
  for (Vector* all : {&x_weights_, &x_loadings_, &x_rotations_}) all->resize(count * d, 0.0);
  y_weights_.resize(count, 0.0), y_loadings_.resize(count, 0.0);
  x_mean_ = problem.mean(), x_scale_.assign(d, 1.0), coef_.assign(d, 0.0);
  y_mean_ = problem.y_mean()[0];
  for (std::size_t j = 0; j < d; ++j) {
    if (factor[j] > 0) x_scale_[j] = 1 / factor[j];
    for (std::size_t k = 0; k < count; ++k)
      coef_[j] += x_rotations_[k * d + j] * y_loadings_[k] * y_scale / x_scale_[j];
  }
  x_scores_ = scores(ctx, X).to_host();
  y_scores_.assign(x_scores_.size(), 0.0);   // what is left of the target before each component, over its weight
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    double left = (y.values[i] - y_mean_) / y_scale;
    for (std::size_t k = 0; k < static_cast<std::size_t>(n_used_); ++k) {
      y_scores_[i * count + k] = left / y_weights_[k];
      left -= x_scores_[i * count + k] * y_loadings_[k];
    }
  }
}

template <class T>
Matrix<double> PLSRegression<T>::scores(const Context& ctx, const Samples<T>& X) const {
  const std::size_t d = coef_.size(), count = y_weights_.size();
  Vector lines(count * d), starts(count, 0.0);
  for (std::size_t e = 0; e < lines.size(); ++e) {
    lines[e] = x_rotations_[e] / x_scale_[e % d];
    starts[e / d] -= lines[e] * x_mean_[e % d];
  }
  return linear_values(ctx, X, lines, starts);
}

template <class T>
std::vector<double> PLSRegression<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, coef_.size());
  const double start = y_mean_ - dot(coef_, x_mean_);
  return linear_values(ctx, X, coef_, {&start, 1}).to_host();
}

template <class T>
Samples<T> PLSRegression<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, coef_.size());
  Matrix<double> values = scores(ctx, X);
  if constexpr (std::is_same_v<T, double>) {
    return samples_of(std::move(values));
  } else {
    const Vector wide = values.to_host();
    return samples_of(Matrix<T>(ctx.memory(), values.rows(), values.cols(), std::vector<T>(wide.begin(), wide.end())));
  }
}

template <class T>
schema::ValueMap PLSRegression<T>::attributes() const {
  const std::size_t count = y_weights_.size(), d = coef_.size();
  const double squares = dot(y_loadings_, y_loadings_);
  Vector y_rotations = y_loadings_;   // of a single target
  for (double& v : y_rotations) v = squares > 0 ? v / squares : 0.0;
  return {{"coef_", rows_value(coef_, static_cast<std::int64_t>(d))},
          {"intercept_", Vector{y_mean_}},
          {"n_iter_", Vector(static_cast<std::size_t>(n_used_), 1.0)},
          {"x_loadings_", by_column(x_loadings_, count)},
          {"x_rotations_", by_column(x_rotations_, count)},
          {"x_scores_", rows_value(x_scores_, static_cast<std::int64_t>(count))},
          {"x_weights_", by_column(x_weights_, count)},
          {"y_loadings_", rows_value(y_loadings_, static_cast<std::int64_t>(count))},
          {"y_rotations_", rows_value(y_rotations, static_cast<std::int64_t>(count))},
          {"y_scores_", rows_value(y_scores_, static_cast<std::int64_t>(count))},
          {"y_weights_", rows_value(y_weights_, static_cast<std::int64_t>(count))}};
}

template <class T>
void PLSRegression<T>::state(StateArchive& archive) {
  const std::int64_t d = archive.n_features();
  archive.field("coef", coef_, d);
  archive.field("x_mean", x_mean_, d);
  archive.field("x_scale", x_scale_, d);
  archive.field("y_mean", y_mean_);
  archive.field("y_weights", y_weights_, kAnySize);
  const auto count = static_cast<std::int64_t>(y_weights_.size());
  archive.expect(count > 0, "y_weights", "is empty");
  archive.field("y_loadings", y_loadings_, count);
  for (auto& [name, all] : {std::pair<const char*, Vector*>{"x_weights", &x_weights_},
                            {"x_loadings", &x_loadings_},
                            {"x_rotations", &x_rotations_}})
    archive.field(name, *all, count, d);
  archive.field("x_scores", x_scores_, kAnySize, count);
  archive.field("y_scores", y_scores_, static_cast<std::int64_t>(x_scores_.size()) / std::max<std::int64_t>(1, count),
                count);
  archive.number("n_used", n_used_, 0, count);
}

template class PLSRegression<float>;
template class PLSRegression<double>;

}   // namespace kedge::engine
