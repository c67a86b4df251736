// The dummies: shares of classes, means and quantiles of the target.
#include "engine/estimators/dummy/dummy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/core/rng.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

constexpr const char* kClassifier = "DummyClassifier";
constexpr const char* kRegressor = "DummyRegressor";

const ParamSet<DummyClassifierParams>& classifier_params() {
  using P = DummyClassifierParams;
  static const ParamSet<P> set =
      ParamSet<P>(kClassifier)
          .add("strategy", &P::strategy, {"most_frequent", "prior", "stratified", "uniform", "constant"},
               "prior and most_frequent predict the most frequent class, stratified and uniform draw one, constant takes what is "
               "given.")
          .random_state(&P::random_state)
          .any("constant", &P::constant, {string_form(), integer_form(), null_form()},
               "The class that strategy constant predicts.");
  return set;
}

const ParamSet<DummyRegressorParams>& regressor_params() {
  using P = DummyRegressorParams;
  static const ParamSet<P> set =
      ParamSet<P>(kRegressor)
          .add("strategy", &P::strategy, {"mean", "median", "quantile", "constant"}, "What is predicted.")
          .any("constant", &P::constant, {number_form(), array_form(), null_form()},
               "What strategy constant predicts; a list must have one number.")
          .add("quantile", &P::quantile, between(0, 1), "The quantile of the target that strategy quantile predicts.");
  return set;
}

std::string class_name(const schema::Value& constant) {
  if (const auto* text = std::get_if<std::string>(&constant.data)) return *text;
  return schema::to_string(constant);
}

// Linear between the two nearest, as numpy.percentile.
double quantile_of(std::vector<double> values, double share) {
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(below));
  const double low = values[below];
  if (below + 1 == values.size()) return low;
  const double high = *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(below) + 1, values.end()),
               part = position - static_cast<double>(below);
  return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

// The first value, in ascending order, at which the weights up to it reach the share of all.
double weighted_quantile_of(const std::vector<double>& values, const std::vector<double>& weights, double share) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> reached;
  for (double sum = 0; const std::size_t i : order) reached.push_back(sum += weights[i]);
  const double least = std::max(share * reached.back(), std::nextafter(0.0, 1.0));
  const auto at = std::ranges::lower_bound(reached, least);
  return values[order[static_cast<std::size_t>(
      std::min<std::ptrdiff_t>(at - reached.begin(), static_cast<std::ptrdiff_t>(order.size()) - 1))]];
}

void require_weight(const char* owner, const std::vector<double>& weights) {
  require(weights.empty() || std::accumulate(weights.begin(), weights.end(), 0.0) > 0, schema::ErrorCode::kBadData,
          "{}: the sample weights sum to 0, must be more", owner);
}

}   // namespace

template <class T>
DummyClassifier<T>::DummyClassifier(const schema::ValueMap& params) : params_(classifier_params().parse(params)) {
  if (params_.strategy == "constant" && params_.constant.is_null())
    refuse_param(kClassifier, "constant", params_.constant, "must be a class for strategy \"constant\"");
}

template <class T>
schema::EstimatorInfo DummyClassifier<T>::info() {
  return {.name = kClassifier,
          .kind = "classifier",
          .family = "dummy",
          .doc = "Predicts classes without looking at the features.",
          .params = classifier_params().infos(),
          .attributes = {"classes_", "class_prior_", "n_classes_", "n_outputs_", "sparse_output_"},
          .deviations = {"Strategies stratified and uniform draw from Philox, not from numpy's generator."}};
}

template <class T>
void DummyClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  ctx.check_stop();
  require_rows(kClassifier, X);
  require_weight(kClassifier, y.weights);
  present_ = PresentClasses(y);
  seed_ = params_.random_state ? static_cast<std::uint64_t>(*params_.random_state) : ctx.seed;
  prior_.assign(present_.codes.size(), 0.0);
  for (std::size_t i = 0; i < y.codes.size(); ++i)
    prior_[static_cast<std::size_t>(present_.positions[static_cast<std::size_t>(y.codes[i])])] +=
        y.weights.empty() ? 1.0 : y.weights[i];
  const double total = std::accumulate(prior_.begin(), prior_.end(), 0.0);
  for (double& share : prior_) share /= total;
  if (params_.strategy != "constant") return;
  const auto found = std::ranges::find(present_.names, class_name(params_.constant));
  require(found != present_.names.end(), schema::ErrorCode::kBadData, "{}: constant is \"{}\", must be a class of the rows",
          kClassifier, class_name(params_.constant));
  constant_ = static_cast<std::size_t>(found - present_.names.begin());
}

template <class T>
std::size_t DummyClassifier<T>::drawn(std::int64_t row) const {
  PhiloxStream random(seed_, static_cast<std::uint64_t>(row));
  if (params_.strategy == "uniform") return random.below(static_cast<std::uint32_t>(present_.size()));
  double rest = random.uniform();
  for (std::size_t c = 0; c + 1 < prior_.size(); ++c) {
    if (rest < prior_[c]) return c;
    rest -= prior_[c];
  }
  return prior_.size() - 1;
}

template <class T>
void DummyClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const std::size_t k = prior_.size();
  std::vector<double> row = prior_, all;
  if (params_.strategy == "uniform") std::ranges::fill(row, 1.0 / static_cast<double>(k));
  const bool one = params_.strategy == "constant" || params_.strategy == "most_frequent", each = params_.strategy == "stratified";
  const std::size_t best =
      params_.strategy == "constant" ? constant_ : static_cast<std::size_t>(std::ranges::max_element(prior_) - prior_.begin());
  for (std::int64_t i = 0; i < X.n_rows(); ++i) {
    if (one || each) std::ranges::fill(row, 0.0), row[each ? drawn(i) : best] = 1;
    all.insert(all.end(), row.begin(), row.end());
  }
  const Matrix<double> shares(ctx.memory(), X.n_rows(), static_cast<std::int64_t>(k), all);
  spread_scores(ctx, present_, shares.view(), 0.0, proba);
}

template <class T>
std::vector<std::int32_t> DummyClassifier<T>::predict(const Context&, const Samples<T>& X) const {
  const bool each = params_.strategy == "stratified" || params_.strategy == "uniform";
  const std::size_t best =
      params_.strategy == "constant" ? constant_ : static_cast<std::size_t>(std::ranges::max_element(prior_) - prior_.begin());
  std::vector<std::int32_t> codes;
  for (std::int64_t i = 0; i < X.n_rows(); ++i) codes.push_back(present_.codes[each ? drawn(i) : best]);
  return codes;
}

template <class T>
schema::ValueMap DummyClassifier<T>::attributes() const {
  return {{"classes_", present_.names_value()},
          {"class_prior_", prior_},
          {"n_classes_", static_cast<std::int64_t>(prior_.size())},
          {"n_outputs_", std::int64_t{1}},
          {"sparse_output_", false}};
}

template <class T>
DummyRegressor<T>::DummyRegressor(const schema::ValueMap& params) : params_(regressor_params().parse(params)) {
  if (params_.strategy == "constant" && params_.constant.is_null())
    refuse_param(kRegressor, "constant", params_.constant, "must be a number for strategy \"constant\"");
  if (params_.strategy == "quantile" && !params_.quantile)
    refuse_param(kRegressor, "quantile", schema::Value(), "must be a number between 0 and 1 for strategy \"quantile\"");
  const auto list = numbers_of(params_.constant);
  if (list && list->size() != 1) refuse_param(kRegressor, "constant", params_.constant, "must have one number");
}

template <class T>
schema::EstimatorInfo DummyRegressor<T>::info() {
  return {.name = kRegressor,
          .kind = "regressor",
          .family = "dummy",
          .doc = "Predicts a constant: the target's mean, a quantile of it, or what is given.",
          .params = regressor_params().infos(),
          .attributes = {"constant_", "n_outputs_"},
          .deviations = {}};
}

template <class T>
void DummyRegressor<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  ctx.check_stop();
  require_rows(kRegressor, X);
  require_weight(kRegressor, y.weights);
  if (params_.strategy == "mean") {
    constant_ = weighted_mean(y.values, y.weights);
  } else if (params_.strategy == "constant") {
    const auto* number = std::get_if<double>(&params_.constant.data);
    constant_ = number ? *number : numbers_of(params_.constant)->front();
  } else {
    const double share = params_.strategy == "median" ? 0.5 : *params_.quantile;
    constant_ = y.weights.empty() ? quantile_of(y.values, share) : weighted_quantile_of(y.values, y.weights, share);
  }
}

template <class T>
std::vector<double> DummyRegressor<T>::predict(const Context&, const Samples<T>& X) const {
  return std::vector<double>(static_cast<std::size_t>(X.n_rows()), constant_);
}

template <class T>
schema::ValueMap DummyRegressor<T>::attributes() const {
  return {{"constant_", rows_value({constant_}, 1)}, {"n_outputs_", std::int64_t{1}}};
}

template <class T>
void DummyClassifier<T>::state(StateArchive& archive) {
  present_.state(archive);
  archive.field("prior", prior_, present_.size());
  archive.number("constant", constant_, 0, present_.size() - 1);
  auto seed = static_cast<std::int64_t>(seed_);
  archive.number("seed", seed, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  seed_ = static_cast<std::uint64_t>(seed);
}

template <class T>
void DummyRegressor<T>::state(StateArchive& archive) {
  archive.field("constant", constant_);
}

template class DummyClassifier<float>;
template class DummyClassifier<double>;
template class DummyRegressor<float>;
template class DummyRegressor<double>;

}   // namespace kedge::engine
