// QuantileRegressor: scaled columns, rows that weigh something, and the line as the samples have it.
#include "engine/estimators/linear/quantile_regressor.h"

#include <algorithm>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/linear/interior_point.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/linear/margin_fit.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = QuantileParams;
constexpr const char* kName = "QuantileRegressor";
constexpr double kMuch = 1e-6;   // of the loss: a gap above this is said

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("quantile", &P::quantile, inside(0, 1), "The quantile that is predicted.")
          .add("alpha", &P::alpha, at_least(0), "Strength of the L1 penalty.")
          .add("fit_intercept", &P::fit_intercept, "Fit an intercept, which is not penalised.")
          .add("solver", &P::solver, {"highs", "highs-ds", "highs-ipm", "revised simplex"},
               "Has no influence on the answer: always an interior point method.")
          .ignore("solver_options", nullptr, {object_form(), null_form()});
  return set;
}

}   // namespace

template <class T>
QuantileRegressor<T>::QuantileRegressor(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo QuantileRegressor<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "linear_model",
          .doc = "Linear regression of a quantile, with an L1 penalty.",
          .params = param_set().infos(),
          .attributes = {"coef_", "intercept_", "n_iter_"},
          .deviations = {
              "An interior point method for every solver, in time linear in the rows; n_iter_ counts its iterations.",
              "Where several lines have the same least loss, one between them is found, not one through as many rows "
              "as columns. Coefficients that the penalty makes 0 are 0 to rounding.",
              "Sparse data are made dense."}};
}

template <class T>
MemoryNeed QuantileRegressor<T>::memory(const SampleShape& X, const schema::Step&) {
  constexpr std::int64_t kVectors = 26;
  return {.work = X.copy() + 2 * memory::block(X) + memory::answers(X) + bytes_of(X.rows, kVectors, memory::kDouble) +
                  6 * memory::square(X.cols + 2)};
}

template <class T>
void QuantileRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  const double total =
      y.weights.empty() ? static_cast<double>(X.n_rows()) : std::accumulate(y.weights.begin(), y.weights.end(), 0.0);
  require(total > 0, schema::ErrorCode::kBadData, "{}: the sample weights sum to 0, must be more", kName);
  Samples<T> rows = X;
  Target own = y;
  if (std::ranges::any_of(y.weights, [](double w) { return w == 0; })) {
    std::vector<std::int32_t> kept;
    for (std::size_t i = 0; i < y.weights.size(); ++i)
      if (y.weights[i] > 0) kept.push_back(static_cast<std::int32_t>(i));
    rows = rows_at(ctx, X, kept), own = rows_at(y, kept);
  }
  const Target& target = own;
  const MarginColumns columns = margin_columns(ctx, rows, params_.fit_intercept);
  PinballProblem problem{.quantile = params_.quantile,
                         .shift = columns.shift,
                         .scale = columns.scale,
                         .penalty = {},
                         .has_intercept = params_.fit_intercept};
  for (const double scale : columns.scale) problem.penalty.push_back(params_.alpha * total * scale);
  if (rows.is_affine()) {   // the solver reads the table itself
    Matrix<T> scratch;
    const MatrixView<const T> values = rows.values(ctx, scratch);
    Matrix<T> copy(ctx.memory(), values.rows, values.cols);
    ctx.ops<T>().tables->gather(values, {}, {}, {}, copy.view());
    rows = samples_of(std::move(copy));
  }
  const PinballLine line = least_pinball(ctx, rows, target.device_values(ctx), target.device_weights(ctx), problem);
  n_iter_ = line.n_iter;
  if (line.gap > kMuch * line.loss && line.gap > 0)
    ctx.warn(
        fmt::format("{}: the loss is {:.6g}, and rounding hides by how much less than {:.3g} it is above its minimum",
                    kName, line.loss, line.gap));
  const auto d = static_cast<std::size_t>(X.n_cols());
  coef_.assign(line.coef.begin(), line.coef.begin() + static_cast<std::ptrdiff_t>(d));
  intercept_ = params_.fit_intercept ? line.coef.back() : 0.0;
  for (std::size_t j = 0; j < d; ++j) coef_[j] *= columns.scale[j], intercept_ -= coef_[j] * columns.shift[j];
}

template <class T>
std::vector<double> QuantileRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, coef_.size());
  return linear_values(ctx, X, coef_, {&intercept_, 1}).to_host();
}

template <class T>
schema::ValueMap QuantileRegressor<T>::attributes() const {
  return {{"coef_", coef_}, {"intercept_", intercept_}, {"n_iter_", n_iter_}};
}

template <class T>
void QuantileRegressor<T>::state(StateArchive& archive) {
  archive.field("coef", coef_, archive.n_features());
  archive.field("intercept", intercept_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
}

template class QuantileRegressor<float>;
template class QuantileRegressor<double>;

}   // namespace kedge::engine
