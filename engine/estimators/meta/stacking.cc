// Predicts each fold with estimators that were fitted on the others, and fits the final estimator on that.
#include "engine/estimators/meta/stacking.h"

#include <algorithm>
#include <numeric>

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
std::int64_t Stack<T>::n_columns() const {
  return std::accumulate(predictors_.begin(), predictors_.end(), std::int64_t{0},
                         [&](std::int64_t sum, const auto& one) { return sum + width_of(one.predictor); });
}

// Writes what `one` answers for X into the table's rows `rows`, from `first_column` on.
template <class T>
void Stack<T>::add_answers(const Context& ctx, const NamedPredictor<T>& one, const Samples<T>& X,
                           std::int64_t first_column, const std::vector<std::int32_t>& rows, std::vector<double>& table,
                           std::int64_t n_columns) const {
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
  if (rows.empty()) return;
  const auto width = static_cast<std::size_t>(width_of(predictor)), held = answers.size() / rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < width; ++j) {   // of two probabilities the second
      double answer = answers[i * held + (held - width) + j];
      if (std::isinf(answer)) answer = 0;   // the decision for a class that a fold lacks
      table[static_cast<std::size_t>(rows[i]) * static_cast<std::size_t>(n_columns) +
            static_cast<std::size_t>(first_column) + j] = answer;
    }
}

template <class T>
Samples<T> Stack<T>::joined(const Context& ctx, const std::vector<double>& table, std::int64_t n_columns,
                            const Samples<T>& X) const {
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

template <class T>
void Stack<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(owner_, X, 2);
  require(!predictors_.empty(), schema::ErrorCode::kBadData, "{}: has no estimator", owner_);
  n_classes_ = kind_ == Kind::kClassifier ? y.n_classes() : 0;
  const auto* folds = std::get_if<std::int64_t>(&params_.cv.data);
  const std::int64_t n_folds = folds ? *folds : kDefaultFolds, columns = n_columns();
  const std::vector<std::int32_t> fold_of = fold_numbers(owner_, y, n_folds);
  std::vector<double> table(static_cast<std::size_t>(X.n_rows() * columns));
  for (std::int32_t k = 0; k < n_folds; ++k) {
    const std::vector<std::int32_t> fitted = rows_in_fold(fold_of, k, false), asked = rows_in_fold(fold_of, k, true);
    const Samples<T> X_fitted = rows_at(ctx, X, fitted), X_asked = rows_at(ctx, X, asked);
    const Target y_fitted = rows_at(y, fitted);
    std::int64_t column = 0;
    for (NamedPredictor<T>& one : predictors_) {
      ctx.check_stop();
      one.predictor.fit(ctx, one.owner, X_fitted, y_fitted);
      add_answers(ctx, one, X_asked, column, asked, table, columns);
      column += width_of(one.predictor);
    }
    ctx.progress("folds of the stack", k + 1, n_folds, "folds");
  }
  for (NamedPredictor<T>& one : predictors_) one.predictor.fit(ctx, one.owner, X, y);
  final_.fit(ctx, final_owner_, joined(ctx, table, columns, X), y);
}

template <class T>
Samples<T> Stack<T>::answers(const Context& ctx, const Samples<T>& X) const {
  const std::int64_t columns = n_columns();
  std::vector<double> table(static_cast<std::size_t>(X.n_rows() * columns));
  std::vector<std::int32_t> all(static_cast<std::size_t>(X.n_rows()));
  std::iota(all.begin(), all.end(), 0);
  std::int64_t column = 0;
  for (const NamedPredictor<T>& one : predictors_) {
    add_answers(ctx, one, X, column, all, table, columns);
    column += width_of(one.predictor);
  }
  return joined(ctx, table, columns, X);
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
  const std::int64_t width = n_columns() + (params_.passthrough ? archive.n_features() : 0);
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
