// Orthogonal matching pursuit on the products of the columns, with a Cholesky factor that grows by a row a step.
#include "engine/estimators/linear/orthogonal_matching_pursuit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/least_squares.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = OmpParams;
using Vector = std::vector<double>;
constexpr const char* kName = "OrthogonalMatchingPursuit";
constexpr double kEps = std::numeric_limits<double>::epsilon();

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_nonzero_coefs", &P::n_nonzero_coefs, at_least(1),
               "Columns to take; null takes a tenth of them, or with tol as many as it needs.")
          .add("tol", &P::tol, at_least(0),
               "Take columns until the squared error is at most this; overrides n_nonzero_coefs.")
          .add("fit_intercept", &P::fit_intercept, "Fit an intercept.")
          .ignore("precompute", "auto", {string_form({"auto"}), boolean_form()});
  return set;
}

// Coefficients of the columns that were taken. gram: (d + 1) x (d + 1), the target last.
class Pursuit {
 public:
  Pursuit(const Vector& gram, std::size_t n_cols) : gram_(gram), d_(n_cols), rest_(n_cols) {
    for (std::size_t j = 0; j < d_; ++j) rest_[j] = at(j, d_);
  }

  // False: no column is left that is not a combination of those taken.
  bool take() {
    const std::size_t best = static_cast<std::size_t>(
        std::ranges::max_element(rest_, {}, [](double r) { return std::abs(r); }) - rest_.begin());
    const bool is_taken = std::ranges::find(taken_, best) != taken_.end();
    if (is_taken || rest_[best] * rest_[best] < kEps) return false;
    Vector row(taken_.size());
    for (std::size_t i = 0; i < taken_.size(); ++i) row[i] = at(best, taken_[i]);
    solve_lower(row);
    const double pivot = at(best, best) - std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    if (!(pivot > kEps * at(best, best))) return false;
    row.push_back(std::sqrt(pivot));
    factor_.push_back(std::move(row)), taken_.push_back(best);
    fit();
    return true;
  }
  // Squared error that is left.
  double error() const {
    double error = at(d_, d_);
    for (std::size_t i = 0; i < taken_.size(); ++i) error -= coef_[i] * at(taken_[i], d_);
    return error;
  }
  Vector coef() const {
    Vector all(d_, 0.0);
    for (std::size_t i = 0; i < taken_.size(); ++i) all[taken_[i]] = coef_[i];
    return all;
  }

 private:
  double at(std::size_t i, std::size_t j) const { return gram_[i * (d_ + 1) + j]; }
  void solve_lower(Vector& x) const {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) x[i] -= factor_[i][j] * x[j];
      x[i] /= factor_[i][i];
    }
  }
  void fit() {
    coef_.resize(taken_.size());
    for (std::size_t i = 0; i < taken_.size(); ++i) coef_[i] = at(taken_[i], d_);
    solve_lower(coef_);
    for (std::size_t i = coef_.size(); i-- > 0;) {
      for (std::size_t j = i + 1; j < coef_.size(); ++j) coef_[i] -= factor_[j][i] * coef_[j];
      coef_[i] /= factor_[i][i];
    }
    for (std::size_t j = 0; j < d_; ++j) {
      rest_[j] = at(j, d_);
      for (std::size_t i = 0; i < taken_.size(); ++i) rest_[j] -= at(j, taken_[i]) * coef_[i];
    }
  }

  const Vector& gram_;
  std::size_t d_;
  Vector rest_, coef_;   // rest_: products of each column with what is left of the target
  std::vector<std::size_t> taken_;
  std::vector<Vector> factor_;   // lower triangle, by row
};

}   // namespace

template <class T>
OrthogonalMatchingPursuit<T>::OrthogonalMatchingPursuit(const schema::ValueMap& params)
    : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo OrthogonalMatchingPursuit<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "linear_model",
          .doc = "Least squares on a few columns, taken greedily.",
          .params = param_set().infos(),
          .attributes = {"coef_", "intercept_", "n_iter_", "n_nonzero_coefs_"},
          .deviations = {"The products of all columns are made whatever precompute says.",
                         "A column that is nearly a combination of those taken is not taken, and a warning says so."}};
}

template <class T>
MemoryNeed OrthogonalMatchingPursuit<T>::memory(const SampleShape& X, const schema::Step&) {
  const std::int64_t use = X.copy() + memory::answers(X);
  return {.work = std::max(
              use, X.copy() + memory::block(X) + 4 * memory::square(X.cols + 1) + bytes_of(X.rows, 6, memory::kDouble)),
          .use = use};
}

template <class T>
void OrthogonalMatchingPursuit<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  const LinearProblem<T> problem(ctx, kName, X, y.values, 1, {}, params_.fit_intercept);
  const std::int64_t d = problem.n_cols();
  require(params_.tol || params_.n_nonzero_coefs.value_or(0) <= d, schema::ErrorCode::kBadData,
          "{}: n_nonzero_coefs is {}, the data have {} columns", kName, params_.n_nonzero_coefs.value_or(0), d);
  most_ = params_.tol ? 0 : params_.n_nonzero_coefs.value_or(std::max<std::int64_t>(d / 10, 1));
  const Vector gram = problem.gram(ctx).to_host();
  Pursuit pursuit(gram, static_cast<std::size_t>(d));
  for (n_iter_ = 0; params_.tol ? n_iter_ < d : n_iter_ < most_;) {
    ctx.check_stop();
    if (!pursuit.take()) {
      ctx.warn(std::string(kName) + ": stops after " + std::to_string(n_iter_) +
               " columns, because the others are combinations of them or have nothing in common with the target");
      break;
    }
    ++n_iter_;
    if (params_.tol && std::abs(pursuit.error()) <= *params_.tol) break;
  }
  coef_ = pursuit.coef();
  intercept_ = problem.intercepts(coef_)[0];
}

template <class T>
std::vector<double> OrthogonalMatchingPursuit<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T>
schema::ValueMap OrthogonalMatchingPursuit<T>::attributes() const {
  return {{"coef_", coef_},
          {"intercept_", intercept_},
          {"n_iter_", n_iter_},
          {"n_nonzero_coefs_", most_ > 0 ? schema::Value(most_) : schema::Value()}};
}

template <class T>
void OrthogonalMatchingPursuit<T>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
  archive.number("most", most_, 0, kMaxSize);
}

template class OrthogonalMatchingPursuit<float>;
template class OrthogonalMatchingPursuit<double>;

}   // namespace kedge::engine
