// Scores of predicted values (sklearn/metrics/_regression.py).
#include "engine/metrics/regression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/core/require.h"
#include "engine/metrics/sums.h"
#include "engine/metrics/weighted_median.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::int64_t rows_of(const ValueView& values) { return static_cast<std::int64_t>(values.y_true.size()); }

// ok: of both y_true and y_pred; `bound` says it in words.
template <class Ok>
void require_values(const char* metric, std::span<const double> y, const char* name, const Ok& ok, const char* bound) {
  const auto bad = std::find_if(y.begin(), y.end(), [&](double value) { return !ok(value); });
  if (bad == y.end()) return;
  throw schema::Error(ErrorCode::kBadData,
                      fmt::format("{}: {} is {} in row {}, must be {}", metric, name, *bad, bad - y.begin(), bound));
}

void require_finite(const char* metric, const ValueView& values) {
  const auto finite = [](double value) { return std::isfinite(value); };
  require_values(metric, values.y_true, "y_true", finite, "finite");
  require_values(metric, values.y_pred, "y_pred", finite, "finite");
}

// Mean of loss(y_true, y_pred).
template <class Loss>
double mean_loss(const char* metric, const ValueView& values, const Loss& loss) {
  require_finite(metric, values);
  return weighted_mean(metric, rows_of(values), values.weights, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    return loss(values.y_true[at], values.y_pred[at]);
  });
}

double squared(double x) { return x * x; }

// 1 - left / whole, where nothing left is perfect, and something left of nothing counts 0.
double explained(double left, double whole) {
  if (left == 0) return 1.0;
  return whole == 0 ? 0.0 : 1 - left / whole;
}

double squares_around_mean(const char* metric, const ValueView& values) {
  const auto y = [&](std::int64_t i) { return values.y_true[static_cast<std::size_t>(i)]; };
  const double shift = y(0);   // a constant y has no variance, to the last bit
  const double mean = weighted_mean(metric, rows_of(values), values.weights, [&](std::int64_t i) { return y(i) - shift; });
  return weighted_sum(rows_of(values), values.weights, [&](std::int64_t i) { return squared((y(i) - shift) - mean); });
}

std::vector<double> absolute_errors(const ValueView& values) {
  std::vector<double> errors(values.y_true.size());
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = std::abs(values.y_pred[i] - values.y_true[i]);
  return errors;
}

}  // namespace

double r2_score(const ValueView& values) {
  if (rows_of(values) < 2) return kNaN;
  const double total = total_weight(rows_of(values), values.weights);
  const double left = mean_loss("r2", values, [](double y, double p) { return squared(y - p); }) * total;
  return explained(left, squares_around_mean("r2", values));
}

double explained_variance_score(const ValueView& values) {
  const double shift = values.y_true[0] - values.y_pred[0];   // a constant error leaves nothing, to the last bit
  const double bias = mean_loss("explained_variance", values, [shift](double y, double p) { return (y - p) - shift; });
  const double left = mean_loss("explained_variance", values,
                                [=](double y, double p) { return squared(((y - p) - shift) - bias); });
  const double whole = squares_around_mean("explained_variance", values) / total_weight(rows_of(values), values.weights);
  return explained(left, whole);
}

double mean_squared_error(const ValueView& values) {
  return mean_loss("mean_squared_error", values, [](double y, double p) { return squared(y - p); });
}

double root_mean_squared_error(const ValueView& values) { return std::sqrt(mean_squared_error(values)); }

double mean_absolute_error(const ValueView& values) {
  return mean_loss("mean_absolute_error", values, [](double y, double p) { return std::abs(p - y); });
}

double median_absolute_error(const ValueView& values) {
  require_finite("median_absolute_error", values);
  require(total_weight(rows_of(values), values.weights) != 0, ErrorCode::kBadData, "median_absolute_error: the sample weights sum to 0");
  return weighted_median(absolute_errors(values), values.weights);
}

double mean_absolute_percentage_error(const ValueView& values) {
  return mean_loss("mean_absolute_percentage_error", values,
                   [](double y, double p) { return std::abs(p - y) / std::max(std::abs(y), kEps); });
}

double mean_squared_log_error(const ValueView& values) {
  const auto above = [](double value) { return value > -1; };
  require_values("mean_squared_log_error", values.y_true, "y_true", above, "above -1");
  require_values("mean_squared_log_error", values.y_pred, "y_pred", above, "above -1");
  return mean_loss("mean_squared_log_error", values, [](double y, double p) { return squared(std::log1p(y) - std::log1p(p)); });
}

double root_mean_squared_log_error(const ValueView& values) { return std::sqrt(mean_squared_log_error(values)); }

double max_error(const ValueView& values) {
  require_finite("max_error", values);
  double largest = 0;
  for (std::size_t i = 0; i < values.y_true.size(); ++i) largest = std::max(largest, std::abs(values.y_true[i] - values.y_pred[i]));
  return largest;
}

double mean_poisson_deviance(const ValueView& values) {
  const char* metric = "mean_poisson_deviance";
  require_values(metric, values.y_true, "y_true", [](double y) { return y >= 0; }, "at least 0");
  require_values(metric, values.y_pred, "y_pred", [](double p) { return p > 0; }, "above 0");
  return mean_loss(metric, values, [](double y, double p) { return 2 * ((y == 0 ? 0.0 : y * std::log(y / p)) - y + p); });
}

double mean_gamma_deviance(const ValueView& values) {
  const char* metric = "mean_gamma_deviance";
  const auto positive = [](double value) { return value > 0; };
  require_values(metric, values.y_true, "y_true", positive, "above 0");
  require_values(metric, values.y_pred, "y_pred", positive, "above 0");
  return mean_loss(metric, values, [](double y, double p) { return 2 * (std::log(p / y) + y / p - 1); });
}

double d2_absolute_error_score(const ValueView& values) {
  if (rows_of(values) < 2) return kNaN;
  const double left = mean_loss("d2_absolute_error_score", values, [](double y, double p) { return std::abs(y - p); });
  const double median = weighted_median({values.y_true.begin(), values.y_true.end()}, values.weights);
  return explained(left, mean_loss("d2_absolute_error_score", values, [median](double y, double) { return std::abs(y - median); }));
}

}  // namespace kedge::engine
