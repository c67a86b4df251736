// IsotonicRegression: what lies around the curve.
#include "engine/estimators/linear/isotonic_regression.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = IsotonicRegressionParams;
using schema::ErrorCode;

constexpr const char* kName = "IsotonicRegression";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kTogether = 8192;   // rows that one thread predicts

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .add("y_min", &P::y_min, Bounds{}, "Least value that is predicted; null for none.")
          .add("y_max", &P::y_max, Bounds{}, "Greatest value that is predicted; null for none.")
          .any("increasing", &P::increasing, {boolean_form(), string_form({"auto"})},
               "Never fall, or never rise; auto: as the sign of Spearman's rank correlation.")
          .add("out_of_bounds", &P::out_of_bounds, {"nan", "clip", "raise"},
               "What is predicted beyond the fitted values: NaN, the value at the nearest end, or an error.");
  return set;
}

template <class T>
void require_one_column(const Samples<T>& X) {
  require(X.n_cols() == 1, ErrorCode::kBadData,
          "{}: got {} columns, takes 1; choose it by select.features or by a ColumnTransformer", kName, X.n_cols());
}

}   // namespace

template <class T>
IsotonicRegression<T>::IsotonicRegression(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  if (params_.y_min && params_.y_max && *params_.y_min > *params_.y_max)
    refuse_param(kName, "y_min", *params_.y_min, fmt::format("must be at most y_max, which is {}", *params_.y_max));
}

template <class T>
schema::EstimatorInfo IsotonicRegression<T>::info() {
  return {
      .name = kName,
      .kind = "regressor",
      .family = "isotonic",
      .doc = "The nearest function of one column that never falls, or never rises.",
      .params = param_set().infos(),
      .attributes = {"X_min_", "X_max_", "X_thresholds_", "y_thresholds_", "increasing_"},
      .deviations = {"float32 input is fitted in double.",
                     "Values of the column count as one where they are equal; scikit-learn joins those within 1e-15, "
                     "in float32 1e-6.",
                     "With out_of_bounds \"nan\" rows beyond the fitted ones have no score; a job that scores them "
                     "is refused."}};
}

template <class T>
MemoryNeed IsotonicRegression<T>::memory(const SampleShape& X, const schema::Step&) {
  constexpr std::int64_t kOfARow = 12;   // column, places, ranks, points and blocks
  MemoryNeed need = memory::makes(X, 1, X.copy() + bytes_of(X.rows, kOfARow, memory::kDouble));
  need.out.features = {{.name = "isotonicregression0"}};
  return need;
}

template <class T>
bool IsotonicRegression<T>::is_increasing(const Context& ctx, const std::vector<double>& x, const Target& y) const {
  if (const auto* given = std::get_if<bool>(&params_.increasing.data)) return *given;
  const double rho = rank_correlation(x, y.values);
  const auto n = static_cast<double>(x.size());
  if (std::abs(rho) != 1 && n > 3) {   // Fisher's interval
    const double z = std::atanh(rho), width = 1.96 / std::sqrt(n - 3);
    if (!(z - width > 0) && !(z + width < 0))
      ctx.warn(
          fmt::format("{}: the interval of 95 % around the rank correlation {:.3g} has 0 in it, so the data do not "
                      "say whether the curve is to rise",
                      kName, rho));
  }
  return rho >= 0;
}

template <class T>
void IsotonicRegression<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  require_one_column(X);
  ctx.check_stop();
  const bool weighs = y.weights.empty() || std::ranges::any_of(y.weights, [](double w) { return w > 0; });
  require(weighs, ErrorCode::kBadData, "{}: the sample weights are all 0", kName);
  const std::vector<double> x = host_values(ctx, X);
  increasing_ = is_increasing(ctx, x, y);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  curve_ = IsotonicCurve::fitted(x, y.values, y.weights,
                                 {.increasing = increasing_,
                                  .low = params_.y_min.value_or(-kInfinity),
                                  .high = params_.y_max.value_or(kInfinity)});
}

template <class T>
std::vector<double> IsotonicRegression<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_one_column(X);
  ctx.check_stop();
  std::vector<double> values = host_values(ctx, X);
  const double low = curve_.x.front(), high = curve_.x.back();
  const bool is_bounded = params_.out_of_bounds != "clip" && curve_.x.size() > 1;   // one point is a constant
  const auto is_outside = [&](double x) { return x < low || x > high; };
  if (is_bounded && params_.out_of_bounds == "raise") {
    const auto bad = std::ranges::find_if(values, is_outside);
    require(bad == values.end(), ErrorCode::kBadData,
            "{}: row {} (counted from 0) is {}, beyond the fitted values, which are {} to {}; see out_of_bounds", kName,
            bad - values.begin(), bad == values.end() ? 0.0 : *bad, low, high);
  }
  const std::int64_t n = X.n_rows();
  side_by_side((n + kTogether - 1) / kTogether, [&](std::int64_t part) {
    const auto first = static_cast<std::size_t>(part * kTogether);
    const std::size_t end = std::min(values.size(), first + static_cast<std::size_t>(kTogether));
    for (std::size_t i = first; i < end; ++i)
      values[i] = is_bounded && is_outside(values[i]) ? kNan : curve_.at(values[i]);
  });
  return values;
}

template <class T>
Samples<T> IsotonicRegression<T>::transform(const Context& ctx, const Samples<T>& X) const {
  const std::vector<double> values = predict(ctx, X);
  const std::vector<T> cells(values.begin(), values.end());
  return samples_of(Matrix<T>(ctx.memory(), X.n_rows(), 1, cells), {{.name = "isotonicregression0"}});
}

template <class T>
schema::ValueMap IsotonicRegression<T>::attributes() const {
  return {{"X_min_", curve_.x.front()},
          {"X_max_", curve_.x.back()},
          {"X_thresholds_", curve_.x},
          {"y_thresholds_", curve_.y},
          {"increasing_", increasing_}};
}

template <class T>
void IsotonicRegression<T>::state(StateArchive& archive) {
  archive.field("increasing", increasing_);
  archive.field("x", curve_.x, kAnySize);
  archive.expect(!curve_.x.empty(), "x", "is empty");
  archive.field("y", curve_.y, static_cast<std::int64_t>(curve_.x.size()));
  archive.expect_finite("x", curve_.x), archive.expect_finite("y", curve_.y);
  archive.expect(std::ranges::adjacent_find(curve_.x, std::greater_equal<>()) == curve_.x.end(), "x",
                 "does not ascend");
}

template class IsotonicRegression<float>;
template class IsotonicRegression<double>;

}   // namespace kedge::engine
