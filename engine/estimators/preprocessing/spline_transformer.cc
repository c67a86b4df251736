// SplineTransformer: chooses the knots, adds the outer ones, and leaves the splines to the device.
#include "engine/estimators/preprocessing/spline_transformer.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using P = SplineTransformerParams;
constexpr const char* kName = "SplineTransformer";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("n_knots", &P::n_knots, at_least(2), "Knots of each column, if knots is not an array.")
          .add("degree", &P::degree, between(0, kMostSplineDegree), "Degree of the polynomials.")
          .any("knots", &P::knots, {string_form({"uniform", "quantile"}), array_form({array_form()})},
               "Where the knots are: evenly spaced, at quantiles, or an array of rows, one number a column.")
          .add("extrapolation", &P::extrapolation, {"error", "constant", "linear", "continue", "periodic"},
               "What values beyond the first and last knot give.")
          .add("include_bias", &P::include_bias, "Keep the last spline of each column, so that they sum to 1.")
          .ignore("order", "C", {string_form({"C", "F"})})
          .add("handle_missing", &P::handle_missing, {"error", "zeros"}, "What a missing value gives.")
          .ignore("sparse_output", false, {boolean_form()});
  return set;
}

Extrapolation extrapolation_of(const std::string& name) {
  if (name == "linear") return Extrapolation::kLinear;
  if (name == "continue") return Extrapolation::kContinue;
  return name == "periodic" ? Extrapolation::kPeriodic : Extrapolation::kConstant;   // "error": nothing is beyond
}

void append(std::vector<double>& to, const std::vector<double>& values) { to.insert(to.end(), values.begin(), values.end()); }

// The base knots of a column between `degree` more at each end: at the distance of the first two and the last two, or those of
// the neighbouring periods.
std::vector<double> with_outer_knots(const std::vector<double>& base, std::int64_t degree, bool periodic) {
  const std::size_t n = base.size();
  const double first = base.front(), last = base.back(), k = static_cast<double>(degree);
  std::vector<double> knots;
  if (periodic) {
    for (std::int64_t i = degree; i > 0; --i) knots.push_back(base[n - 1 - static_cast<std::size_t>(i)] - (last - first));
    append(knots, base);
    for (std::int64_t i = 1; i <= degree; ++i) knots.push_back(base[static_cast<std::size_t>(i)] + (last - first));
    return knots;
  }
  const double low_step = base[1] - first, high_step = last - base[n - 2];
  append(knots, linspace(first - k * low_step, first - low_step, degree));
  append(knots, base);
  append(knots, linspace(last + high_step, last + k * high_step, degree));
  return knots;
}

}  // namespace

template <class T>
SplineTransformer<T>::SplineTransformer(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  for (const auto& [name, value] : params)
    if (name == "sparse_output" && value == schema::Value(true))
      refuse_param(kName, name, value, "must be false: results are dense");
  const bool is_array = !std::holds_alternative<std::string>(params_.knots.data);
  const auto rows = rows_of(params_.knots);
  if (is_array && !rows) refuse_param(kName, "knots", params_.knots, "must have rows of as many numbers each");
  if (is_array) given_knots_ = *rows;
  for (std::size_t i = 1; i < given_knots_.size(); ++i)
    for (std::size_t j = 0; j < given_knots_[i].size(); ++j)
      if (!(given_knots_[i][j] > given_knots_[i - 1][j]))
        refuse_param(kName, "knots", params_.knots, "must ascend down every column");
  if (is_array && given_knots_.size() < 2) refuse_param(kName, "knots", params_.knots, "must have at least 2 rows");
  const auto n_knots = is_array ? static_cast<std::int64_t>(given_knots_.size()) : params_.n_knots;
  if (params_.extrapolation == "periodic" && n_knots <= params_.degree)
    refuse_param(kName, "degree", params_.degree, "must be less than the number of knots with extrapolation \"periodic\"");
}

template <class T>
schema::EstimatorInfo SplineTransformer<T>::info() {
  return {.name = kName,
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Univariate B-spline bases of the columns.",
          .params = param_set().infos(),
          .attributes = {"bsplines_", "n_features_out_"},
          .deviations = {"bsplines_ lists the knots of each column's splines.", "degree is at most 32.",
                         "sparse_output must be false: results are dense.",
                         "extrapolation \"linear\" with degree 0 or 1 continues every column from its own ends, and \"constant\" "
                         "with degree 0 gives "
                         "zeros beyond them; scikit-learn moves the ends of all columns but the first, and fails."}};
}

template <class T>
std::vector<double> SplineTransformer<T>::uniform_knots(const Context& ctx, const Samples<T>& X,
                                                        const std::vector<double>& weights) const {
  const Samples<T> weighted = weighted_rows(ctx, X, weights);
  require(weighted.n_rows() > 0, schema::ErrorCode::kBadData, "{}: all sample weights are 0", kName);
  const Ranges ranges = column_ranges(ctx, weighted);
  std::vector<double> knots;
  for (std::size_t j = 0; j < ranges.minimum.size(); ++j) {
    const bool empty = std::isnan(ranges.minimum[j]);   // nothing but missing values
    append(knots, empty ? std::vector<double>(static_cast<std::size_t>(params_.n_knots), 0.0)
                        : linspace(ranges.minimum[j], ranges.maximum[j], params_.n_knots));
  }
  return knots;
}

template <class T>
std::vector<double> SplineTransformer<T>::quantile_knots(const Context& ctx, const Samples<T>& X,
                                                         const std::vector<double>& weights) const {
  std::vector<double> q = linspace(0, 1, params_.n_knots), knots;
  for (double& share : q) share = 100 * share / 100;   // percentiles, as scikit-learn asks for them
  if (!weights.empty()) {
    const std::vector<T> rows = host_rows(ctx, X);
    for (std::int64_t j = 0; j < X.n_cols(); ++j)
      append(knots, weighted_quantiles(column_of(rows, X.n_cols(), j), weights, q, false));
    return knots;
  }
  const std::vector<double> quantiles = column_quantiles(ctx, X, q);
  for (std::int64_t j = 0; j < X.n_cols(); ++j) append(knots, column_of(quantiles, X.n_cols(), j));
  return knots;
}

// By column, one after the other.
template <class T>
std::vector<double> SplineTransformer<T>::base_knots(const Context& ctx, const Samples<T>& X,
                                                     const std::vector<double>& weights) const {
  if (given_knots_.empty())
    return params_.knots == schema::Value("quantile") ? quantile_knots(ctx, X, weights) : uniform_knots(ctx, X, weights);
  require(static_cast<std::int64_t>(given_knots_.front().size()) == X.n_cols(), schema::ErrorCode::kBadData,
          "{}: knots has {} columns, must have the {} of X", kName, given_knots_.front().size(), X.n_cols());
  std::vector<double> knots;
  for (std::size_t j = 0; j < given_knots_.front().size(); ++j)
    for (const auto& row : given_knots_) knots.push_back(row[j]);
  return knots;
}

template <class T>
void SplineTransformer<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X, 2);
  refuse_infinite(ctx, kName, X);
  ctx.check_stop();
  const std::vector<double> base = base_knots(ctx, X, y.weights);
  n_features_ = X.n_cols(), knots_.clear();
  const auto n_base = static_cast<std::ptrdiff_t>(base.size()) / n_features_;
  for (auto first = base.begin(); first != base.end(); first += n_base)
    append(knots_, with_outer_knots({first, first + n_base}, params_.degree, params_.extrapolation == "periodic"));
  n_knots_ = static_cast<std::int64_t>(knots_.size()) / n_features_;
}

template <class T>
void SplineTransformer<T>::refuse_beyond(const Context& ctx, const Samples<T>& X) const {
  const Ranges ranges = column_ranges(ctx, X);
  for (std::int64_t j = 0; j < n_features_; ++j) {
    const double first = knots_[static_cast<std::size_t>(j * n_knots_ + params_.degree)];
    const double last = knots_[static_cast<std::size_t>((j + 1) * n_knots_ - 1 - params_.degree)];
    const double low = ranges.minimum[static_cast<std::size_t>(j)], high = ranges.maximum[static_cast<std::size_t>(j)];
    if (std::isnan(low)) continue;
    require(low >= first && high <= last, schema::ErrorCode::kBadData, "{}: column {} has {}, beyond its knots, {} to {}", kName,
            X.table->column_label(j), low < first ? low : high, first, last);
  }
}

template <class T>
Samples<T> SplineTransformer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  ctx.check_stop();
  if (params_.extrapolation == "error") refuse_beyond(ctx, X);
  const Matrix<double> knots(ctx.memory(), n_features_, n_knots_, knots_);
  const SplineBasis spline{.knots = knots.view(),
                           .degree = static_cast<int>(params_.degree),
                           .extrapolation = extrapolation_of(params_.extrapolation),
                           .drop_last = !params_.include_bias};
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, X.n_rows(), n_features_ * spline.n_out());
  ctx.ops<T>().maps->spline_basis(X.values(ctx, scratch), spline, out.view());
  return samples_of(std::move(out));
}

template <class T>
schema::ValueMap SplineTransformer<T>::attributes() const {
  const std::int64_t periods = params_.extrapolation == "periodic" ? params_.degree : 0;
  const std::int64_t n_splines = n_knots_ - params_.degree - 1 - periods;
  return {{"bsplines_", rows_value(knots_, n_knots_)},
          {"n_features_out_", n_features_ * (n_splines - (params_.include_bias ? 0 : 1))}};
}

template <class T>
void SplineTransformer<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_knots", n_knots_, 2 * params_.degree + 2, kMaxSize);
  archive.field("knots", knots_, n_features_, n_knots_);
  for (std::size_t i = 0; archive.is_loading() && i < knots_.size(); ++i) {
    const bool is_first = i % static_cast<std::size_t>(n_knots_) == 0;
    archive.expect(std::isfinite(knots_[i]) && (is_first || knots_[i - 1] <= knots_[i]), "knots", "is not in order");
  }
}

template class SplineTransformer<float>;
template class SplineTransformer<double>;

}  // namespace kedge::engine
