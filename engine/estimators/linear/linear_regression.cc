// LinearRegression: triangle, singular values, and the decision how exactly to solve.
#include "engine/estimators/linear/linear_regression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/least_squares.h"
#include "engine/estimators/linear/precise_least_squares.h"
#include "engine/estimators/linear/sparse_problem.h"
#include "engine/estimators/magnitudes.h"

namespace kedge::engine {
namespace {

using P = LinearRegressionParams;
constexpr const char* kName = "LinearRegression";
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kLittleWork = 3e4;       // n d^2: with 32 digits at once, in a fraction of a millisecond
constexpr double kMostWork = 6e7;         // n d^2: with 32 digits where double loses too many, in a second
constexpr double kLargeWork = 3e6;        // n d^2: worth the attempt by the Gram matrix
constexpr double kFineCondition = 300;    // up to which its squared condition costs singular values no more than five digits
constexpr double kIllConditioned = 1e6;   // condition from which double leaves fewer than ten digits

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("fit_intercept", &P::fit_intercept, "Fit an intercept: centre columns and target.")
          .ignore("copy_X", true, {boolean_form()})
          .add("tol", &P::tol, at_least(0), "In float32, singular values up to this part of the largest count as 0.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .add("positive", &P::positive, "Coefficients of at least 0.");
  return set;
}

// The powers of two that bring the columns' spreads near 1, exact, so that nothing is rounded; 0 for constant columns.
std::vector<double> equalising(const std::vector<double>& spread) {
  std::vector<double> factors(spread.size(), 0.0);
  for (std::size_t j = 0; j < spread.size(); ++j)
    if (spread[j] > 0 && std::isfinite(spread[j])) factors[j] = std::ldexp(1.0, -std::ilogb(spread[j]));
  return factors;
}

// n d^2.
template <class T>
double work_of(const Samples<T>& X) {
  const auto d = static_cast<double>(X.n_cols());
  return static_cast<double>(X.n_rows()) * d * d;
}

}   // namespace

template <class T>
LinearRegression<T>::LinearRegression(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo LinearRegression<T>::info() {
  return {
      .name = kName,
      .kind = "regressor",
      .family = "linear_model",
      .doc = "Ordinary least squares.",
      .params = param_set().infos(),
      .attributes = {"coef_", "intercept_", "rank_", "singular_"},
      .deviations = {
          "float32 input is solved in double.",
          "Which columns depend on each other is found after they were scaled, and in float64 at the level of "
          "rounding; scikit-learn "
          "drops singular values below tol of the unscaled columns, and with them columns in small units.",
          "Sparse data of more than 4,194,304 cells are solved by conjugate gradients, to rounding, for any tol; "
          "rank_ and singular_ are then not there.",
          "Columns and targets whose squares leave float64 are multiplied by powers of two first; singular_ is that of "
          "the columns so multiplied, and with fewer rows than columns the shortest coefficients are theirs.",
          "With positive, rank_ and singular_ are given as well."}};
}

// Rounding of the data makes singular values of dependent columns this large, relative to the largest.
template <class T>
double LinearRegression<T>::cutoff(std::int64_t n) const {
  if (std::is_same_v<T, float>) return params_.tol;
  return std::clamp(kEpsilon * static_cast<double>(n), 1e-14, 1e-11);
}

template <class T>
bool LinearRegression<T>::solve_precisely(const Context& ctx, const Samples<T>& X, const Target& y) {
  const auto solution = precise_least_squares(sample_rows(ctx, X).to_host(), X.n_rows(), X.n_cols(), y.values, y.weights,
                                              params_.fit_intercept, cutoff(X.n_rows()));
  if (!solution) return false;
  coef_ = solution->coef, intercept_ = solution->intercept, rank_ = X.n_cols();
  return true;
}

// w = V (V'q / lambda), for V's rows as eigenvectors.
template <class T>
bool LinearRegression<T>::solve_refined(const Context& ctx, const LinearProblem<T>& problem) {
  const std::int64_t d = problem.n_cols();
  const auto size = static_cast<std::size_t>(d);
  const std::vector<double> gram = problem.gram(ctx).to_host();
  Matrix<double> vectors(ctx.memory(), d, d, leading_square(gram, d + 1, d));
  Array<double> eigenvalues(ctx.memory(), d);
  ctx.ops<double>().factorise->eigh(vectors.view(), eigenvalues.view());
  const std::vector<double> lambda = eigenvalues.to_host();
  if (!(lambda[0] * kFineCondition * kFineCondition > lambda.back())) return false;
  const std::vector<double> V = vectors.to_host();
  coef_.assign(size, 0.0);
  std::vector<double> slopes(gram.begin() + d * (d + 1), gram.begin() + d * (d + 1) + d);
  for (int pass = 0; pass < 2; ++pass) {
    if (pass > 0) slopes = problem.slopes(ctx, coef_);
    for (std::size_t k = 0; k < size; ++k) {
      double along = 0;
      for (std::size_t j = 0; j < size; ++j) along += V[k * size + j] * slopes[j];
      for (std::size_t j = 0; j < size; ++j) coef_[j] += along / lambda[k] * V[k * size + j];
    }
  }
  singular_.clear(), rank_ = d;
  for (std::size_t k = size; k-- > 0;) singular_.push_back(std::sqrt(lambda[k]));
  intercept_from(problem);
  return true;
}

template <class T>
void LinearRegression<T>::solve_tall(const Context& ctx, LinearProblem<T>& problem, const Samples<T>& X, const Target& y) {
  const std::int64_t n = problem.n_rows(), d = problem.n_cols();
  const double work = work_of(X);
  const std::vector<double> scale = equalising(problem.spread());
  problem.scale_columns(ctx, scale);
  const std::vector<double> triangle = problem.triangle(ctx).to_host();
  ctx.check_stop();
  const std::vector<double> R = leading_square(triangle, d + 1, d);
  std::vector<double> z, original = R;
  for (std::int64_t i = 0; i < d; ++i) z.push_back(triangle[static_cast<std::size_t>(i * (d + 1) + d)]);
  for (std::size_t e = 0; e < original.size(); ++e) {
    const double factor = scale[e % static_cast<std::size_t>(d)];
    original[e] = factor > 0 ? original[e] / factor : 0.0;
  }
  singular_ = decompose(ctx, original, d, d).s;
  singular_.resize(static_cast<std::size_t>(std::min(n, d)));
  if (params_.positive) {
    coef_ = nonnegative_least_squares(ctx, R, z);
    rank_ = std::ranges::count_if(singular_, [&](double s) { return s > cutoff(n) * singular_[0]; });
  } else {
    const bool constant = std::ranges::any_of(scale, [](double factor) { return factor == 0; });
    if (!constant && work <= kLittleWork && solve_precisely(ctx, X, y)) return;
    rank_ = d;
    if (singular_.back() * kIllConditioned > singular_[0]) {
      coef_ = back_substitute(R, z);
    } else {
      const std::vector<double> scaled = decompose(ctx, R, d, d).s;
      std::vector<double> lengths = scale;   // of a step along each column; constant columns count in full, and are then left out
      std::ranges::replace(lengths, 0.0, 1.0);
      const bool dependent = !(scaled.back() > cutoff(n) * scaled[0]);
      if (!dependent && scaled.back() * kIllConditioned <= scaled[0] && work <= kMostWork && solve_precisely(ctx, X, y)) return;
      coef_ = dependent ? shortest_solution(ctx, R, z, lengths, cutoff(n), rank_) : back_substitute(R, z);
      if (dependent) return intercept_from(problem);
    }
  }
  for (std::size_t j = 0; j < coef_.size(); ++j) coef_[j] *= scale[j];
  intercept_from(problem);
}

template <class T>
void LinearRegression<T>::intercept_from(const LinearProblem<T>& problem) {
  intercept_ = problem.intercepts(coef_)[0];
}

template <class T>
void LinearRegression<T>::solve_wide(const Context& ctx, const LinearProblem<T>& problem) {
  const std::int64_t n = problem.n_rows(), d = problem.n_cols();
  const Decomposition svd = decompose(ctx, problem.rows(ctx).to_host(), n, d);
  const std::vector<double> targets = problem.targets(ctx);
  singular_ = svd.s;
  coef_.assign(static_cast<std::size_t>(d), 0.0);
  rank_ = 0;
  for (std::int64_t k = 0; k < n && svd.s[static_cast<std::size_t>(k)] > cutoff(d) * svd.s[0]; ++k, ++rank_) {
    double along = 0;
    for (std::int64_t i = 0; i < n; ++i)
      along += svd.U[static_cast<std::size_t>(i * n + k)] * targets[static_cast<std::size_t>(i)];
    along /= svd.s[static_cast<std::size_t>(k)];
    for (std::int64_t j = 0; j < d; ++j)
      coef_[static_cast<std::size_t>(j)] += along * svd.Vt[static_cast<std::size_t>(k * d + j)];
  }
  intercept_from(problem);
}

template <class T>
void LinearRegression<T>::solve_sparse(const Context& ctx, const Samples<T>& X, const Target& y) {
  const SparseProblem<T> problem(ctx, kName, X, y.values, 1, y.weights, params_.fit_intercept);
  coef_ = solve_sparse_least_squares(ctx, kName, problem, {0.0});
  intercept_ = problem.intercepts(coef_)[0];
  rank_ = -1, singular_.clear();
}

// Columns and targets whose squares leave double are brought near 1 by powers of two.
template <class T>
void LinearRegression<T>::fit(const Context& ctx, const Samples<T>& given, const Target& y) {
  const bool is_sparse = is_large_sparse(given) && !params_.positive;
  const Samples<T> X = is_sparse ? given : densified(ctx, "LinearRegression with these parameters", given);
  const std::vector<double> factors = std::is_same_v<T, double> ? column_factors(ctx, X) : std::vector<double>();
  const double factor = value_factor(ctx, y);
  if (factors.empty() && factor == 1) return solve(ctx, X, y);
  for (std::size_t j = 0; is_sparse && j < factors.size(); ++j)
    require(factors[j] == 1, schema::ErrorCode::kBadData, "{}: the squares of column {} leave float64; scale it first", kName,
            X.table->column_label(static_cast<std::int64_t>(j)));
  Target scaled = y;
  for (double& value : scaled.values) value *= factor;
  solve(ctx, factors.empty() ? X : multiplied(ctx, X, factors), scaled);
  constexpr double kCounts = 1e-12;   // of the largest: less is rounding
  double least = 0;
  for (const double coef : coef_) least = std::max(least, kCounts * std::abs(coef));
  for (std::size_t j = 0; j < coef_.size(); ++j) {
    const double coef = coef_[j];
    coef_[j] = (factors.empty() ? coef : coef * factors[j]) / factor;
    require(std::isnormal(coef_[j]) || (std::isfinite(coef_[j]) && std::abs(coef) <= least), schema::ErrorCode::kBadData,
            "{}: the coefficient of column {} leaves float64; scale the column or the target first", kName,
            X.table->column_label(static_cast<std::int64_t>(j)));
  }
  intercept_ /= factor;
}

template <class T>
void LinearRegression<T>::solve(const Context& ctx, const Samples<T>& X, const Target& y) {
  if (is_large_sparse(X) && !params_.positive) return solve_sparse(ctx, X, y);
  using Problem = LinearProblem<T>;
  const bool is_wide = X.n_rows() < X.n_cols() && !params_.positive;
  if (is_wide) return solve_wide(ctx, Problem(ctx, kName, X, y, params_.fit_intercept));
  const bool is_large = work_of(X) > kLargeWork && !params_.positive;
  if (is_large && solve_refined(ctx, Problem(ctx, kName, X, y, params_.fit_intercept))) return;
  Problem problem(ctx, kName, X, y, params_.fit_intercept, Problem::Moments::kSpread);
  solve_tall(ctx, problem, X, y);
}

template <class T>
std::vector<double> LinearRegression<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T>
schema::ValueMap LinearRegression<T>::attributes() const {
  if (rank_ < 0) return {{"coef_", coef_}, {"intercept_", intercept_}};
  return {{"coef_", coef_}, {"intercept_", intercept_}, {"rank_", rank_}, {"singular_", singular_}};
}

template <class T>
void LinearRegression<T>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.number("rank", rank_, 0, kMaxSize);
  archive.field("singular", singular_, kAnySize);
}

template class LinearRegression<float>;
template class LinearRegression<double>;

}   // namespace kedge::engine
