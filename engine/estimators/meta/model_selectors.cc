// Reads importances of columns from fitted estimators, and keeps the columns that matter.
#include "engine/estimators/meta/model_selectors.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/meta/elimination.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using schema::Value;

constexpr const char* kSelect = "SelectFromModel";
constexpr const char* kRfe = "RFE";
constexpr double kL1Threshold = 1e-5;   // scikit-learn's, of estimators whose penalty makes coefficients 0

const char* const kEstimatorDoc = "Has coef_ or feature_importances_ once it is fitted.";
const char* const kGetterDoc = "The attribute to read; auto takes coef_, else feature_importances_.";

// scikit-learn has no default; a catalogue row must have one.
const Value kDefaultEstimator = schema::ValueMap{{"estimator", "LogisticRegression"}};

const ParamSet<SelectFromModelParams>& select_params() {
  using P = SelectFromModelParams;
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  static const ParamSet<P> set =
      ParamSet<P>(kSelect)
          .any("estimator", &P::estimator, std::move(forms), "Judges the columns; null takes LogisticRegression.")
          .any(
              "threshold", &P::threshold, {number_form(), string_form(), null_form()},
              "Columns of less importance are left out: a number, \"mean\", \"median\" or \"1.25*mean\"; null takes 1e-5 where the "
              "estimator has an L1 penalty, else the mean.")
          .any("norm_order", &P::norm_order, {integer_form(at_least(1)), string_form({"inf"})},
               "Of the norm over the classes, where coef_ has a row for each.")
          .add("max_features", &P::max_features, at_least(0), "Columns to keep at most.")
          .any("importance_getter", &P::importance_getter, {string_form()}, kGetterDoc);
  return set;
}

const ParamSet<RfeParams>& rfe_params() {
  using P = RfeParams;
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  static const ParamSet<P> set =
      ParamSet<P>(kRfe)
          .any("estimator", &P::estimator, std::move(forms), "Judges the columns; null takes LogisticRegression.")
          .any("n_features_to_select", &P::n_features_to_select,
               {integer_form(at_least(1)), number_form(above_up_to(0, 1)), null_form()},
               "Columns to keep: a number, or a share of all; null takes half.")
          .any("step", &P::step, {integer_form(at_least(1)), number_form(inside(0, 1))},
               "Columns that each round leaves out: a number, or a share of all.")
          .ignore("verbose", 0, {integer_form(at_least(0))})
          .any("importance_getter", &P::importance_getter, {string_form()}, kGetterDoc);
  return set;
}

Value or_default(const Value& estimator) {
  return estimator.is_null() ? kDefaultEstimator : estimator;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// "1.25*mean" in its parts; the factor is 1 where there is none.
struct Threshold {
  double factor = 1;
  bool is_median = false;
};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::optional<Threshold> parsed_threshold(const std::string& text) {
  Threshold threshold;
  std::string word = text;
  if (const std::size_t star = text.find('*'); star != std::string::npos) {
    const std::string factor = trimmed(text.substr(0, star));
    const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), threshold.factor);
    if (error != std::errc() || end != factor.data() + factor.size() || !std::isfinite(threshold.factor))
      return std::nullopt;
    word = text.substr(star + 1);
  }
  word = trimmed(word);
  if (word != "mean" && word != "median") return std::nullopt;
  threshold.is_median = word == "median";
  return threshold;
}

// Whether the estimator's own penalty brings coefficients to 0.
bool has_l1_penalty(const schema::Step& step) {
  if (step.estimator.find("Lasso") != std::string::npos) return true;
  const Value* const penalty = find_value(step.params, "penalty");
  const Value* const ratio = find_value(step.params, "l1_ratio");
  const bool is_all_l1 = ratio && (*ratio == Value(1.0) || *ratio == Value(std::int64_t{1}));
  return (penalty && *penalty == Value("l1")) ||
         (is_all_l1 && (step.estimator.starts_with("ElasticNet") || step.estimator.starts_with("LogisticRegression")));
}

schema::Step last_step(const Value& estimator) {
  const auto* list = std::get_if<schema::ValueList>(&estimator.data);
  return step_of(list ? list->back() : estimator, "params.estimator");
}

}   // namespace

template <class T>
SelectFromModel<T>::SelectFromModel(const schema::ValueMap& params)
    : params_(select_params().parse(params)),
      predictor_(or_default(params_.estimator), "params.estimator", NestedPredictor<T>::Kind::kEither) {
  const auto* text = std::get_if<std::string>(&params_.threshold.data);
  if (text && !parsed_threshold(*text))
    refuse_param(kSelect, "threshold", params_.threshold, "must be a number, \"mean\", \"median\" or FACTOR*mean");
}

template <class T>
schema::EstimatorInfo SelectFromModel<T>::info() {
  return {
      .name = kSelect,
      .kind = "transformer",
      .family = "feature_selection",
      .doc = "Keep the columns that an estimator finds important.",
      .params = select_params().infos(),
      .attributes = {"estimator_", "threshold_", "support_", "max_features_"},
      .deviations = {
          "A fitted estimator (prefit) cannot be sent; callables for max_features and importance_getter are refused.",
          "norm_order is a whole number of at least 1, or \"inf\"."}};
}

template <class T>
double SelectFromModel<T>::threshold_of(const std::vector<double>& importances) const {
  if (const auto* number = std::get_if<double>(&params_.threshold.data)) return *number;
  if (const auto* text = std::get_if<std::string>(&params_.threshold.data)) {
    const Threshold parsed = *parsed_threshold(*text);
    return parsed.factor * (parsed.is_median ? median(importances) : mean(importances));
  }
  return has_l1_penalty(last_step(or_default(params_.estimator))) ? kL1Threshold : mean(importances);
}

template <class T>
void SelectFromModel<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kSelect, X);
  n_features_ = X.n_cols();
  predictor_.fit(ctx, kSelect, X, y);
  const auto rows = importance_rows(kSelect, predictor_, params_.importance_getter);
  const auto* order = std::get_if<std::int64_t>(&params_.norm_order.data);
  std::vector<double> importances(static_cast<std::size_t>(n_features_));
  for (std::size_t j = 0; j < importances.size(); ++j) {
    double norm = 0;
    for (const auto& row : rows)
      norm = order ? norm + std::pow(std::abs(row[j]), static_cast<double>(*order)) : std::max(norm, std::abs(row[j]));
    importances[j] = order && *order > 1 && rows.size() > 1 ? std::pow(norm, 1 / static_cast<double>(*order))
                     : rows.size() == 1                     ? std::abs(rows[0][j])
                                                            : norm;
  }
  threshold_ = threshold_of(importances);
  std::vector<std::int32_t> best(importances.size());
  std::iota(best.begin(), best.end(), 0);
  std::ranges::stable_sort(best, std::greater<>(),
                           [&](std::int32_t j) { return importances[static_cast<std::size_t>(j)]; });
  if (params_.max_features && *params_.max_features < n_features_)
    best.resize(static_cast<std::size_t>(*params_.max_features));
  std::erase_if(best, [&](std::int32_t j) { return importances[static_cast<std::size_t>(j)] < threshold_; });
  std::ranges::sort(best);
  kept_ = std::move(best);
  require(!kept_.empty(), schema::ErrorCode::kBadData, "{}: no column has an importance of at least {}", kSelect,
          threshold_);
}

template <class T>
Samples<T> SelectFromModel<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kSelect, X, static_cast<std::size_t>(n_features_));
  return selected_columns(ctx, X, kept_);
}

template <class T>
schema::ValueMap SelectFromModel<T>::attributes() const {
  schema::ValueMap map{
      {"estimator_", predictor_.attributes()}, {"threshold_", threshold_}, {"support_", mask_of(kept_, n_features_)}};
  if (params_.max_features) map.emplace_back("max_features_", *params_.max_features);
  return map;
}

template <class T>
void SelectFromModel<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.indices("kept", kept_, kAnySize, 0, n_features_ - 1);
  archive.expect(!kept_.empty(), "kept", "names no column");
  archive.field("threshold", threshold_);
  predictor_.state(archive);
}

template <class T>
RFE<T>::RFE(const schema::ValueMap& params)
    : params_(rfe_params().parse(params)),
      predictor_(or_default(params_.estimator), "params.estimator", NestedPredictor<T>::Kind::kEither) {}

template <class T>
schema::EstimatorInfo RFE<T>::info() {
  return {.name = kRfe,
          .kind = "transformer",
          .family = "feature_selection",
          .doc = "Leave out the columns that an estimator finds least important, a few at a time.",
          .params = rfe_params().infos(),
          .attributes = {"estimator_", "n_features_", "support_", "ranking_", "classes_"},
          .deviations = {"It only transforms: the predictor follows as a step of its own.",
                         "A callable importance_getter is refused."}};
}

template <class T>
std::int64_t RFE<T>::wanted(std::int64_t n_features) const {
  if (params_.n_features_to_select.is_null()) return n_features / 2;
  if (const auto* whole = std::get_if<std::int64_t>(&params_.n_features_to_select.data)) return *whole;
  return static_cast<std::int64_t>(static_cast<double>(n_features) *
                                   std::get<double>(params_.n_features_to_select.data));
}

template <class T>
void RFE<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRfe, X);
  const std::int64_t n_features = X.n_cols();
  require(n_features >= 2, schema::ErrorCode::kBadData, "{}: got 1 column, needs at least 2", kRfe);
  const std::int64_t n_kept = wanted(n_features);
  require(n_kept >= 1, schema::ErrorCode::kBadData, "{}: n_features_to_select keeps no column of {}", kRfe, n_features);
  if (n_kept > n_features)
    ctx.warn(fmt::format("{}: n_features_to_select is {}, there are only {} columns; keeps all of them", kRfe, n_kept,
                         n_features));
  const Elimination options{kRfe, n_kept, elimination_step(params_.step, n_features), params_.importance_getter};
  Eliminated done = eliminate<T>(ctx, options, predictor_, X, y, {});
  kept_ = std::move(done.kept), ranking_ = std::move(done.ranking);
}

template <class T>
Samples<T> RFE<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kRfe, X, ranking_.size());
  return selected_columns(ctx, X, kept_);
}

template <class T>
schema::ValueMap RFE<T>::attributes() const {
  const schema::ValueMap judge = predictor_.last_attributes();
  const Value* const classes = find_value(judge, "classes_");
  schema::ValueMap map{{"estimator_", predictor_.attributes()},
                       {"n_features_", static_cast<std::int64_t>(kept_.size())},
                       {"support_", mask_of(kept_, static_cast<std::int64_t>(ranking_.size()))},
                       {"ranking_", schema::ValueList(ranking_.begin(), ranking_.end())}};
  if (classes) map.emplace_back("classes_", *classes);
  return map;
}

template <class T>
void RFE<T>::state(StateArchive& archive) {
  const std::int64_t d = archive.n_features();
  archive.field("ranking", ranking_, d);
  archive.indices("kept", kept_, kAnySize, 0, d - 1);
  archive.expect(!kept_.empty(), "kept", "names no column");
  const StateArchive::Scope scope(archive, "estimator",
                                  std::max<std::int64_t>(1, static_cast<std::int64_t>(kept_.size())));
  predictor_.state(archive);
}

template class SelectFromModel<float>;
template class SelectFromModel<double>;
template class RFE<float>;
template class RFE<double>;

}   // namespace kedge::engine
