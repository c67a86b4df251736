// PowerTransformer: log-likelihoods of all columns in one pass, searches on the host.
#include "engine/estimators/preprocessing/power_transformer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using P = PowerTransformerParams;
constexpr const char* kName = "PowerTransformer";
constexpr double kTolerance = 1.48e-8;   // of scipy.optimize.brent
constexpr double kLargePower = 30;       // above it, exp(x) is scaled before it is squared

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("method", &P::method, {"yeo-johnson", "box-cox"}, "Which power; box-cox needs positive values.")
          .add("standardize", &P::standardize, "Scale the result to mean 0 and variance 1.")
          .ignore("copy", true, {boolean_form()});
  return set;
}

template <class T>
Samples<T> mapped(const Context& ctx, ColumnMap map, const std::vector<double>& a, const std::vector<double>& b,
                  const Samples<T>& X) {
  const Array<double> first(ctx.memory(), std::span<const double>(a)), second(ctx.memory(), std::span<const double>(b));
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, X.n_rows(), X.n_cols());
  ctx.ops<T>().maps->map_columns(map, first.view(), second.view(), X.values(ctx, scratch), out.view());
  Samples<T> result = samples_of(std::move(out));
  result.table->is_finite = X.table->is_finite;
  return result;
}

// The interval in which scipy.stats.yeojohnson_normmax searches: values to 20 times the largest neither over- nor underflow.
template <class T>
Search<double> yeo_johnson_search(double least, double most) {
  using Limits = std::numeric_limits<T>;
  const double log_eps = std::log(static_cast<double>(Limits::epsilon()));
  const double size = std::log1p(20 * std::max(std::abs(least), std::abs(most)));
  double low = (std::log(static_cast<double>(Limits::min())) - log_eps) / 2 / size;
  double high = (std::log(static_cast<double>(Limits::max())) + log_eps) / 2 / size;
  if (most < 0) {
    const double mirrored = 2 - low;
    low = 2 - high, high = mirrored;
  } else if (least < 0) {
    const double mirrored = 2 - low;
    low = std::max(2 - high, low), high = std::min(mirrored, high);
  }
  return minimize_within(low, high, kTolerance);
}

// Minus the log-likelihood of one column, from the moments of its logarithms and of its powers.
double yeo_johnson_loss(double count, double log_sum, double variance, double lambda) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(variance >= std::numeric_limits<double>::min()) || std::isinf(variance))
    return std::isnan(variance) ? variance : kInfinity;
  return count / 2 * std::log(variance) - (lambda - 1) * log_sum;
}
double box_cox_loss(double count, double log_sum, double variance, double lambda, double scale) {
  return count / 2 * (std::log(variance) + 2 * scale) - (lambda - 1) * log_sum;
}

// The power nearest to lambda with which no value of the column leaves T: scipy.stats.boxcox_normmax's bound, a ten-thousandth of the
// largest number. The power of x has the size exp(l log x) / l.
template <class T>
double bounded_power(double lambda, double least_log, double most_log) {
  const double log_most = std::log(static_cast<double>(std::numeric_limits<T>::max()) / 10000);
  const double log_size = std::max(lambda * least_log, lambda * most_log) / std::abs(lambda);
  const auto is_within = [&](double size) { return size * log_size - std::log(size) <= log_most; };
  if (lambda == 0 || !(log_size > 0) || is_within(std::abs(lambda))) return lambda;
  double low = 0, high = std::abs(lambda);
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (is_within(middle) ? low : high) = middle;
  }
  return std::copysign(low, lambda);
}

}  // namespace

template <class T>
PowerTransformer<T>::PowerTransformer(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo PowerTransformer<T>::info() {
  return {.name = kName,
          .kind = "transformer",
          .family = "preprocessing",
          .doc = "Make columns more normally distributed by a power transform.",
          .params = param_set().infos(),
          .attributes = {"lambdas_"},
          .deviations = {"Results whose squares leave float64 are standardised all the same: with method \"box-cox\", numbers near "
                         "1e10 that hardly vary become powers of up to 1e304, of which scikit-learn makes NaN. A column whose powers all round to one number is refused; scikit-learn "
                         "returns 0 for it."}};
}

template <class T>
void PowerTransformer<T>::check_columns(const Samples<T>& X, const Ranges& ranges) const {
  if (params_.method != "box-cox") return;
  for (std::size_t j = 0; j < ranges.minimum.size(); ++j)
    require(!(ranges.minimum[j] <= 0), schema::ErrorCode::kBadData,
            "{}: column {} has {}, must be above 0 for method \"box-cox\"", kName,
            X.table->column_label(static_cast<std::int64_t>(j)), ranges.minimum[j]);
}

// One a column. A constant one keeps lambda 1, or is refused.
template <class T>
std::vector<Search<double>> PowerTransformer<T>::searches(const Context& ctx, const Samples<T>& X, const Ranges& ranges) const {
  const PresentMoments moments = present_moments(ctx, X);
  std::vector<Search<double>> result;
  for (std::size_t j = 0; j < ranges.minimum.size(); ++j) {
    const auto column = X.table->column_label(static_cast<std::int64_t>(j));
    require(moments.count[j] > 0, schema::ErrorCode::kBadData, "{}: column {} has no values but missing ones", kName, column);
    if (params_.method == "box-cox") {
      require(ranges.minimum[j] < ranges.maximum[j], schema::ErrorCode::kBadData,
              "{}: column {} is constant, which method \"box-cox\" does not allow", kName, column);
      result.push_back(minimize_from(-2, 2, kTolerance));
    } else if (moments.deviation[j] == 0) {
      result.push_back(minimize_within(1, 1, kTolerance));
    } else {
      result.push_back(yeo_johnson_search<T>(ranges.minimum[j], ranges.maximum[j]));
    }
  }
  return result;
}

// `ranges` are those of the logarithms.
template <class T>
void PowerTransformer<T>::find_lambdas(const Context& ctx, const Samples<T>& logs, std::vector<Search<double>>& searches,
                                       const Ranges& ranges) {
  const bool box_cox = params_.method == "box-cox";
  const PresentMoments log_moments = present_moments(ctx, logs);
  std::vector<double> scale(lambdas_.size(), 0.0);
  while (std::ranges::any_of(searches, [](const auto& s) { return !s.done(); })) {
    ctx.check_stop();
    for (std::size_t j = 0; j < searches.size(); ++j) {
      if (!searches[j].done()) lambdas_[j] = searches[j].asked();
      const double largest = std::max(lambdas_[j] * ranges.minimum[j], lambdas_[j] * ranges.maximum[j]);
      scale[j] = box_cox && std::abs(largest) > kLargePower ? largest : 0.0;
    }
    const PresentMoments moments =
        present_moments(ctx, mapped(ctx, box_cox ? ColumnMap::kBoxCoxOfLog : ColumnMap::kYeoJohnsonOfLog, lambdas_, scale, logs));
    for (std::size_t j = 0; j < searches.size(); ++j) {
      if (searches[j].done()) continue;
      const double count = log_moments.count[j], log_sum = count * log_moments.mean[j];
      searches[j].tell(box_cox ? box_cox_loss(count, log_sum, moments.variance[j], lambdas_[j], scale[j])
                               : yeo_johnson_loss(count, log_sum, moments.variance[j], lambdas_[j]));
    }
  }
  for (std::size_t j = 0; j < searches.size(); ++j) {
    const double found = searches[j].found();
    lambdas_[j] = box_cox ? bounded_power<T>(found, ranges.minimum[j], ranges.maximum[j]) : found;
  }
}

template <class T>
Samples<T> PowerTransformer<T>::powers(const Context& ctx, const Samples<T>& X) const {
  return mapped(ctx, params_.method == "box-cox" ? ColumnMap::kBoxCox : ColumnMap::kYeoJohnson, lambdas_, {}, X);
}

template <class T>
void PowerTransformer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kName, X);
  refuse_infinite(ctx, kName, X);
  ctx.check_stop();
  const Ranges ranges = column_ranges(ctx, X);
  check_columns(X, ranges);
  const std::size_t d = ranges.minimum.size();
  lambdas_.assign(d, 1.0), mean_.assign(d, 0.0), factor_.assign(d, 1.0);
  std::vector<Search<double>> under_way = searches(ctx, X, ranges);
  const Samples<T> logs = mapped(ctx, params_.method == "box-cox" ? ColumnMap::kLog : ColumnMap::kSignedLog, {}, {}, X);
  find_lambdas(ctx, logs, under_way, column_ranges(ctx, logs));
  const bool box_cox = params_.method == "box-cox";
  if (!params_.standardize && !box_cox) return;
  PresentMoments result = present_moments(ctx, powers(ctx, X));
  for (std::size_t j = 0; j < d && box_cox; ++j)   // whose logarithms do differ
    require(result.deviation[j] != 0, schema::ErrorCode::kBadData,
            "{}: the powers of column {} with its lambda {:.3g} do not differ any more; divide the column by its mean first", kName,
            X.table->column_label(static_cast<std::int64_t>(j)), lambdas_[j]);
  if (!params_.standardize) return;
  for (std::size_t j = 0; j < d; ++j)
    if (result.deviation[j] != 0) factor_[j] = 1 / result.deviation[j];
  mean_ = std::move(result.mean);
}

template <class T>
Samples<T> PowerTransformer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, lambdas_.size());
  if (params_.method == "box-cox") check_columns(X, column_ranges(ctx, X));
  const Samples<T> result = powers(ctx, X);
  return params_.standardize ? result.then(mean_, factor_) : result;
}

template <class T>
void PowerTransformer<T>::state(StateArchive& archive) {
  const std::int64_t d = archive.n_features();
  archive.field("lambdas", lambdas_, d);
  archive.field("mean", mean_, d);
  archive.field("factor", factor_, d);
}

template class PowerTransformer<float>;
template class PowerTransformer<double>;

}  // namespace kedge::engine
