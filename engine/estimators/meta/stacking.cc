// Predicts each fold with estimators that were fitted on the others, and fits the final estimator on that.
#include "engine/estimators/meta/stacking.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"

namespace kedge::engine {
namespace {

using schema::Value;

constexpr const char* kClassifier = "StackingClassifier";
constexpr const char* kRegressor = "StackingRegressor";
constexpr std::int64_t kDefaultFolds = 5;

ParamSet<StackingParams> common_params(const char* owner, const char* final_doc) {
  using P = StackingParams;
  std::vector<schema::ParamForm> final_forms = predictor_forms();
  final_forms.push_back(null_form());
  return ParamSet<P>(owner)
      .any("estimators", &P::estimators, {named_predictors_form()},
           "The estimators, {\"name\", \"estimator\"} each, or [name, estimator].")
      .any("final_estimator", &P::final_estimator, std::move(final_forms), final_doc)
      .any("cv", &P::cv, {integer_form(at_least(2)), null_form()}, "How many folds; null takes 5.");
}

const ParamSet<StackingParams>& classifier_params() {
  using P = StackingParams;
  static const ParamSet<P> set =
      common_params(kClassifier, "Learns from what the estimators predict; null takes LogisticRegression.")
          .add("stack_method", &P::stack_method, {"auto", "predict_proba", "decision_function", "predict"},
               "What it reads of each estimator; auto takes the first of these that the estimator has.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .add("passthrough", &P::passthrough, "Let it read the columns of the data as well.")
          .ignore("verbose", 0, {integer_form(at_least(0))});
  return set;
}

const ParamSet<StackingParams>& regressor_params() {
  using P = StackingParams;
  static const ParamSet<P> set =
      common_params(kRegressor, "Learns from what the estimators predict; null takes RidgeCV.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .add("passthrough", &P::passthrough, "Let it read the columns of the data as well.")
          .ignore("verbose", 0, {integer_form(at_least(0))});
  return set;
}

schema::EstimatorInfo info_of(const char* name, const char* kind, const char* doc,
                              std::vector<schema::ParamInfo> params) {
  return {.name = name,
          .kind = kind,
          .family = "ensemble",
          .doc = doc,
          .params = std::move(params),
          .attributes = {"named_estimators_", "final_estimator_", "stack_method_"},
          .deviations = {"estimators is a list of objects, or of lists in place of tuples.",
                         "cv is a number of folds; fitted estimators (cv=\"prefit\") cannot be sent.",
                         "There is no transform."}};
}

Value or_default(const Value& final_estimator, const char* name) {
  return final_estimator.is_null() ? Value(schema::ValueMap{{"estimator", name}}) : final_estimator;
}

}   // namespace

template <class T>
Stack<T>::Stack(const char* owner, StackingParams params, Kind kind, const char* default_final)
    : owner_(owner),
      params_(std::move(params)),
      kind_(kind),
      predictors_(named_predictors<T>(owner, params_.estimators, kind)),
      final_(or_default(params_.final_estimator, default_final), "params.final_estimator", kind),
      final_owner_(fmt::format("{}: final_estimator", owner)) {
  for (const NamedPredictor<T>& one : predictors_) {
    const bool has_it = params_.stack_method == "predict_proba"       ? one.predictor.has_proba()
                        : params_.stack_method == "decision_function" ? one.predictor.has_decision()
                                                                      : true;
    if (!has_it)
      refuse_param(owner, "stack_method", params_.stack_method,
                   fmt::format("but '{}' ({}) has none", one.name, one.predictor.estimator()));
  }
}

template <class T>
bool Stack<T>::takes_weights() const {
  return final_.takes_weights() &&
         std::ranges::all_of(predictors_, [](const auto& one) { return one.predictor.takes_weights(); });
}

template <class T>
typename Stack<T>::Method Stack<T>::method_of(const NestedPredictor<T>& predictor) const {
  if (!predictor.is_classifier() || params_.stack_method == "predict") return Method::kPredict;
  if (params_.stack_method != "decision_function" && predictor.has_proba()) return Method::kProba;
  return predictor.has_decision() ? Method::kDecision : Method::kPredict;
}

template <class T>
std::int64_t Stack<T>::width_of(const NestedPredictor<T>& predictor) const {
  return method_of(predictor) == Method::kPredict || n_classes_ == 2 ? 1 : n_classes_;
}

template <class T>
std::vector<std::int64_t> Stack<T>::first_columns() const {
  std::vector<std::int64_t> first{0};
  for (const NamedPredictor<T>& one : predictors_) first.push_back(first.back() + width_of(one.predictor));
  return first;
}

// Row after row, width_of() numbers each.
template <class T>
std::vector<double> Stack<T>::answers_of(const Context& ctx, const NamedPredictor<T>& one, const Samples<T>& X) const {
  const NestedPredictor<T>& predictor = one.predictor;
  const Method method = method_of(predictor);
  std::vector<double> answers;
  if (method == Method::kProba) {
    answers = predictor.proba(ctx, one.owner, X);
  } else if (method == Method::kDecision) {
    answers = predictor.decision(ctx, one.owner, X);
  } else if (predictor.is_classifier()) {
    const std::vector<std::int32_t> codes = predictor.codes(ctx, one.owner, X);
    answers.assign(codes.begin(), codes.end());
  } else {
    answers = predictor.values(ctx, one.owner, X);
  }
  const auto n_rows = static_cast<std::size_t>(X.n_rows()), width = static_cast<std::size_t>(width_of(predictor));
  const bool is_second = n_rows > 0 && answers.size() == 2 * n_rows * width && width == 1;   // of two probabilities
  for (std::size_t i = 0; is_second && i < n_rows; ++i) answers[i] = answers[2 * i + 1];
  answers.resize(n_rows * width);
  for (double& answer : answers)
    if (std::isinf(answer)) answer = 0;   // the decision for a class that a fold lacked
  return answers;
}

template <class T>
Samples<T> Stack<T>::joined(const Context& ctx, const std::vector<double>& table, const Samples<T>& X) const {
  const std::int64_t n_columns = first_columns().back();
  const std::vector<T> cells(table.begin(), table.end());
  Samples<T> made = samples_of(Matrix<T>(ctx.memory(), X.n_rows(), n_columns, std::span<const T>(cells)));
  if (!params_.passthrough) return made;
  std::vector<Feature> features(static_cast<std::size_t>(n_columns));
  for (std::size_t j = 0; j < features.size(); ++j) features[j].name = fmt::format("answer{}", j);
  for (const Feature& feature : features_of(*X.table)) features.push_back(feature);
  Samples<T> given = X;
  given.content.clear();
  return side_by_side(ctx, std::vector<Samples<T>>{std::move(made), std::move(given)}, {1.0, 1.0}, std::move(features));
}

// The parts of a fold, of which several predictors are fitted and asked one after the other.
template <class T>
struct Stack<T>::Fold {
  std::int32_t number;
  Samples<T> fitted, asked;
  Target y;
};

// The fits of the folds, fold by fold, of which answers are left, and then those on all rows, of which predictors are.
template <class T>
std::vector<double> Stack<T>::fit_predictors(const Context& ctx, const Samples<T>& X, const Target& y,
                                             const std::vector<std::int32_t>& fold_of, std::int64_t n_folds) {
  const std::size_t n = predictors_.size(), n_asked = static_cast<std::size_t>(n_folds) * n;
  const std::vector<std::int64_t> first = first_columns();
  std::vector<double> table(fold_of.size() * static_cast<std::size_t>(first.back()));
  std::vector<std::vector<double>> said(n_asked);
  std::optional<Fold> fold;
  InnerFits fits = fits_of<T>(ctx, [&](std::size_t i) -> NestedPredictor<T>& { return predictors_[i % n].predictor; });
  fits.things = "fits";
  for (std::size_t i = 0; i < n_asked + n; ++i) fits.planned.push_back(planned(i % n, X, i < n_asked ? n_folds : 0));
  fits.fit = [&](const Context& inner, std::size_t i) {
    NamedPredictor<T>& one = predictors_[i % n];
    if (i >= n_asked) return one.predictor.fit(inner, one.owner, X, y);
    const auto k = static_cast<std::int32_t>(i / n);
    if (!fold || fold->number != k) {
      const std::vector<std::int32_t> fitted = rows_in_fold(fold_of, k, false);
      fold.emplace(
          Fold{k, rows_at(ctx, X, fitted), rows_at(ctx, X, rows_in_fold(fold_of, k, true)), rows_at(y, fitted)});
    }
    one.predictor.fit(inner, one.owner, fold->fitted, fold->y);
    said[i] = answers_of(inner, one, fold->asked);
  };
  fits.write = [&, write = fits.write](std::size_t i, ByteWriter& out) {
    if (i < n_asked) out.numbers(said[i]);
    else write(i, out);
  };
  fits.read = [&, read = fits.read](std::size_t i, ByteReader& in) {
    if (i < n_asked) said[i] = in.numbers<double>();
    else read(i, in);
  };
  fits.done = [&](std::size_t i) {
    if (i >= n_asked) return;
    place(std::exchange(said[i], {}), i % n, first, table,
          [&](std::size_t row) { return fold_of[row] == static_cast<std::int32_t>(i / n); });
  };
  deal_fits(ctx, fits);
  return table;
}

// Of a predictor on all but one of so many folds, which it is then asked; 0: on all rows.
template <class T>
PlannedFit Stack<T>::planned(std::size_t predictor, const Samples<T>& X, std::int64_t n_folds) const {
  const std::int64_t asked = n_folds > 0 ? X.n_rows() / n_folds : 0;
  PlannedFit one = predictors_[predictor].predictor.planned(X.n_rows() - asked, X.n_cols());
  if (n_folds > 0 && one.is_large) one.cost *= 1 + static_cast<double>(asked) / 100;   // it searches when it is asked
  one.is_large = one.is_large && n_folds == 0;
  return one;
}

// Answers to the rows that `is_asked` names, in their order, into the table's columns of a predictor.
template <class T>
template <class IsAsked>
void Stack<T>::place(const std::vector<double>& answers, std::size_t predictor, const std::vector<std::int64_t>& first,
                     std::vector<double>& table, IsAsked&& is_asked) const {
  const auto n_columns = static_cast<std::size_t>(first.back()), column = static_cast<std::size_t>(first[predictor]);
  const std::size_t width = static_cast<std::size_t>(first[predictor + 1]) - column;
  std::size_t from = 0;
  for (std::size_t row = 0; row * n_columns < table.size(); ++row) {
    if (!is_asked(row)) continue;
    for (std::size_t j = 0; j < width; ++j) table[row * n_columns + column + j] = answers[from++];
  }
}

template <class T>
void Stack<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(owner_, X, 2);
  require(!predictors_.empty(), schema::ErrorCode::kBadData, "{}: has no estimator", owner_);
  n_classes_ = kind_ == Kind::kClassifier ? y.n_classes() : 0;
  const auto* folds = std::get_if<std::int64_t>(&params_.cv.data);
  const std::int64_t n_folds = folds ? *folds : kDefaultFolds;
  const std::vector<double> table = fit_predictors(ctx, X, y, fold_numbers(owner_, y, n_folds), n_folds);
  final_.fit(ctx, final_owner_, joined(ctx, table, X), y);
}

template <class T>
Samples<T> Stack<T>::answers(const Context& ctx, const Samples<T>& X) const {
  const std::vector<std::int64_t> first = first_columns();
  std::vector<double> table(static_cast<std::size_t>(X.n_rows() * first.back()));
  for (std::size_t k = 0; k < predictors_.size(); ++k)
    place(answers_of(ctx, predictors_[k], X), k, first, table, [](std::size_t) { return true; });
  return joined(ctx, table, X);
}

template <class T>
schema::ValueMap Stack<T>::attributes() const {
  schema::ValueList methods;
  for (const NamedPredictor<T>& one : predictors_) {
    const Method method = method_of(one.predictor);
    methods.emplace_back(method == Method::kProba      ? "predict_proba"
                         : method == Method::kDecision ? "decision_function"
                                                       : "predict");
  }
  return {{"named_estimators_", attributes_by_name(predictors_)},
          {"final_estimator_", final_.attributes()},
          {"stack_method_", std::move(methods)}};
}

template <class T>
void Stack<T>::state(StateArchive& archive) {
  if (archive.is_loading()) n_classes_ = kind_ == Kind::kClassifier ? archive.n_classes() : 0;
  state_of(archive, predictors_);
  const std::int64_t width = first_columns().back() + (params_.passthrough ? archive.n_features() : 0);
  archive.expect(width >= 1, "estimators", "are none");
  const StateArchive::Scope scope(archive, "final_estimator", width);
  final_.state(archive);
}

template <class T>
StackingClassifier<T>::StackingClassifier(const schema::ValueMap& params)
    : stack_(kClassifier, classifier_params().parse(params), NestedPredictor<T>::Kind::kClassifier,
             "LogisticRegression") {}

template <class T>
schema::EstimatorInfo StackingClassifier<T>::info() {
  schema::EstimatorInfo info =
      info_of(kClassifier, "classifier",
              "Fit a classifier on what other classifiers predict of rows that they were not fitted on.",
              classifier_params().infos());
  info.attributes.insert(info.attributes.begin(), "classes_");
  return info;
}

template <class T>
void StackingClassifier<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  stack_.fit(ctx, X, y);
  classes_ = y.classes;
}

template <class T>
void StackingClassifier<T>::predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const {
  const std::vector<double> host = stack_.last().proba(ctx, stack_.last_owner(), stack_.answers(ctx, X));
  if (!host.empty()) ctx.memory().to_device(proba.data, host.data(), host.size() * sizeof(double));
}

template <class T>
void StackingClassifier<T>::decision_function(const Context& ctx, const Samples<T>& X,
                                              MatrixView<double> decision) const {
  const std::vector<double> host = stack_.last().decision(ctx, stack_.last_owner(), stack_.answers(ctx, X));
  if (!host.empty()) ctx.memory().to_device(decision.data, host.data(), host.size() * sizeof(double));
}

template <class T>
std::vector<std::int32_t> StackingClassifier<T>::predict(const Context& ctx, const Samples<T>& X) const {
  return stack_.last().codes(ctx, stack_.last_owner(), stack_.answers(ctx, X));
}

template <class T>
schema::ValueMap StackingClassifier<T>::attributes() const {
  schema::ValueMap map{{"classes_", schema::ValueList(classes_.begin(), classes_.end())}};
  for (auto& attribute : stack_.attributes()) map.push_back(std::move(attribute));
  return map;
}

template <class T>
void StackingClassifier<T>::state(StateArchive& archive) {
  archive.field("classes", classes_, archive.n_classes());
  stack_.state(archive);
}

template <class T>
StackingRegressor<T>::StackingRegressor(const schema::ValueMap& params)
    : stack_(kRegressor, regressor_params().parse(params), NestedPredictor<T>::Kind::kRegressor, "RidgeCV") {}

template <class T>
schema::EstimatorInfo StackingRegressor<T>::info() {
  return info_of(kRegressor, "regressor",
                 "Fit a regressor on what other regressors predict of rows that they were not fitted on.",
                 regressor_params().infos());
}

template <class T>
std::vector<double> StackingRegressor<T>::predict(const Context& ctx, const Samples<T>& X) const {
  return stack_.last().values(ctx, stack_.last_owner(), stack_.answers(ctx, X));
}

template class Stack<float>;
template class Stack<double>;
template class StackingClassifier<float>;
template class StackingClassifier<double>;
template class StackingRegressor<float>;
template class StackingRegressor<double>;

}   // namespace kedge::engine
