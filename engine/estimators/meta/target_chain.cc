// Fits, asks and keeps predictors in a chain, one for each target column.
#include "engine/estimators/meta/target_chain.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "engine/core/chosen.h"
#include "engine/core/legacy_random.h"
#include "engine/core/number_text.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;

constexpr const char* kClassifier = "ClassifierChain";
constexpr const char* kRegressor = "RegressorChain";
constexpr const char* kClassifierOf = "LogisticRegression";   // where none is given
constexpr const char* kRegressorOf = "LinearRegression";

ParamSet<ChainParams> common_params(const char* owner, const char* otherwise) {
  using P = ChainParams;
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  return ParamSet<P>(owner)
      .any("estimator", &P::estimator, std::move(forms),
           fmt::format("A copy of it is fitted to each target column; null takes {}.", otherwise))
      .any("order", &P::order, {array_form({integer_form(at_least(0))}), string_form({"random"}), null_form()},
           "Positions of the target columns in the order of the chain; null takes that of select.targets.")
      .add("cv", &P::cv, at_least(2),
           "Folds whose predictions later links are fitted on; null fits them on the true targets.");
}

const ParamSet<ChainParams>& classifier_params() {
  using P = ChainParams;
  static const std::vector<std::string> methods{"predict", "predict_proba", "predict_log_proba", "decision_function"};
  static const ParamSet<P> set =
      common_params(kClassifier, kClassifierOf)
          .any("chain_method", &P::chain_method, {string_form(methods), array_form({string_form(methods)})},
               "What a link passes on to the next; of a list the first that the estimator has.")
          .random_state(&P::random_state)
          .ignore("verbose", false, {boolean_form()});
  return set;
}

const ParamSet<ChainParams>& regressor_params() {
  using P = ChainParams;
  static const ParamSet<P> set =
      common_params(kRegressor, kRegressorOf).random_state(&P::random_state).ignore("verbose", false, {boolean_form()});
  return set;
}

Value or_default(const Value& estimator, const char* otherwise) {
  return estimator.is_null() ? Value(schema::ValueMap{{"estimator", otherwise}}) : estimator;
}

bool is_permutation(std::span<const std::int32_t> order) {
  std::vector<char> seen(order.size());
  for (const std::int32_t place : order) {
    if (place < 0 || static_cast<std::size_t>(place) >= seen.size() || seen[static_cast<std::size_t>(place)])
      return false;
    seen[static_cast<std::size_t>(place)] = 1;
  }
  return true;
}

// The list of positions, or nothing. Errors: kInvalidValue for one that is no permutation.
std::optional<std::vector<std::int32_t>> given_order(const char* owner, const Value& value) {
  const std::optional<std::vector<double>> places = numbers_of(value);
  if (!places) return std::nullopt;
  std::vector<std::int32_t> order;
  for (const double place : *places)
    order.push_back(place < static_cast<double>(kMaxSize) ? static_cast<std::int32_t>(place) : -1);
  if (!is_permutation(order))
    refuse_param(owner, "order", value,
                 fmt::format("must have each of 0 to {} once", static_cast<std::int64_t>(order.size()) - 1));
  return order;
}

// The first of those wanted that the predictor has. Errors: kInvalidValue where it has none of them.
template <class T>
std::string method_of(const char* owner, const Value& wanted, const NestedPredictor<T>& predictor) {
  const auto* const list = std::get_if<schema::ValueList>(&wanted.data);
  for (const Value& one : list ? *list : schema::ValueList{wanted}) {
    const auto& method = std::get<std::string>(one.data);
    const bool has_it =
        method == "predict" || (method == "decision_function" ? predictor.has_decision() : predictor.has_proba());
    if (has_it) return method;
  }
  refuse_param(owner, "chain_method", wanted, fmt::format("but {} has none", predictor.estimator()));
}

// What stands for each class in a table.
std::vector<double> numbers_of_classes(const std::vector<std::string>& classes) {
  std::vector<double> numbers;
  for (const std::string& name : classes) {
    const std::optional<double> number = number_of(name);
    if (!number || !std::isfinite(*number)) {
      numbers.resize(classes.size());
      std::iota(numbers.begin(), numbers.end(), 0.0);
      return numbers;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

schema::EstimatorInfo info_of(const char* name, const char* kind, const char* doc,
                              std::vector<schema::ParamInfo> params) {
  return {.name = name,
          .kind = kind,
          .family = "multioutput",
          .doc = doc,
          .params = std::move(params),
          .attributes = {"estimators_", "order_"},
          .deviations = {"The target columns are those of select.targets.", "cv is a number of folds."}};
}

}   // namespace

template <class T>
TargetChain<T>::TargetChain(const char* name, ChainParams params, const char* otherwise, Kind kind)
    : name_(name),
      params_(std::move(params)),
      like_(or_default(params_.estimator, otherwise), "params.estimator", kind),
      chain_method_(method_of(name, params_.chain_method, like_)) {
  given_order(name, params_.order);   // says what is wrong with it
}

template <class T>
std::optional<std::int64_t> TargetChain<T>::n_targets() const {
  const std::optional<std::vector<double>> places = numbers_of(params_.order);
  return places ? std::optional<std::int64_t>(std::ssize(*places)) : std::nullopt;
}

template <class T>
typename TargetChain<T>::Answer TargetChain<T>::passed_answer() const {
  return chain_method_ == "predict"             ? Answer::kPredict
         : chain_method_ == "decision_function" ? Answer::kDecision
                                                : Answer::kProba;
}

template <class T>
std::vector<std::int32_t> TargetChain<T>::order_of(const Context& ctx, std::int64_t n) const {
  if (std::optional<std::vector<std::int32_t>> given = given_order(name_, params_.order)) {
    require(std::ssize(*given) == n, ErrorCode::kBadData, "{}: order has {} positions, there are {} target columns",
            name_, given->size(), n);
    return *given;
  }
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (params_.order.is_null()) return order;
  const auto seed = params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed & 0xffffffffU));
  LegacyRandom(static_cast<std::uint32_t>(seed)).shuffle(std::span(order));
  return order;
}

// Of more than two classes there is no one number that says how likely each is.
template <class T>
void TargetChain<T>::check_classes(const Target& y) const {
  if (passed_answer() == Answer::kPredict) return;
  for (std::size_t i = 0; i + 1 < order_.size(); ++i) {
    const TargetOutput& output = y.outputs[static_cast<std::size_t>(order_[i])];
    require(output.n_classes() == 2, ErrorCode::kBadData,
            "{}: chain_method is {}, which passes on one of two classes; target '{}' has {}: take predict, or let "
            "order end with it",
            name_, chain_method_, output.name, output.n_classes());
  }
}

template <class T>
std::string TargetChain<T>::owner_of(const Link& link) const {
  return fmt::format("{}: target '{}'", name_, link.target);
}

// The features, and behind them what the links before pass on.
template <class T>
Samples<T> TargetChain<T>::extended(const Context& ctx, const Samples<T>& X, const Columns& before) const {
  if (before.empty()) return X;
  const std::size_t n_rows = before.front().size(), n_cols = before.size();
  std::vector<T> cells(n_rows * n_cols);
  std::vector<Feature> features = features_of(*X.table);
  for (std::size_t j = 0; j < n_cols; ++j) {
    for (std::size_t i = 0; i < n_rows; ++i) cells[i * n_cols + j] = static_cast<T>(before[j][i]);
    features.push_back({.name = links_[j].target});
  }
  Samples<T> passed = samples_of(Matrix<T>(ctx.memory(), X.n_rows(), std::ssize(before), std::span<const T>(cells)));
  Samples<T> given = X;
  given.content.clear();
  return side_by_side(ctx, std::vector<Samples<T>>{std::move(given), std::move(passed)}, {1.0, 1.0},
                      std::move(features));
}

// What a link is fitted to, and nothing of the other kind.
template <class T>
Target TargetChain<T>::target_of(const Link& link, const TargetOutput& output, std::vector<double> weights) const {
  if (link.classes.empty()) return {.codes = {}, .classes = {}, .values = output.values, .weights = std::move(weights)};
  return {.codes = output.codes, .classes = link.classes, .values = {}, .weights = std::move(weights)};
}

template <class T>
std::vector<double> TargetChain<T>::true_values(const Link& link, const TargetOutput& output) const {
  return link.classes.empty() ? output.values : chosen(numbers_of_classes(link.classes), output.codes);
}

// Row after row: a value, the code of a class, the probabilities of all, or the decision.
template <class T>
std::vector<double> TargetChain<T>::asked(const Context& ctx, const Link& link, const NestedPredictor<T>& predictor,
                                          Answer answer, const Samples<T>& X) const {
  const std::string owner = owner_of(link);
  if (!predictor.is_classifier()) return predictor.values(ctx, owner, X);
  if (answer == Answer::kProba) return predictor.proba(ctx, owner, X);
  if (answer == Answer::kDecision) return predictor.decision(ctx, owner, X);
  const std::vector<std::int32_t> codes = predictor.codes(ctx, owner, X);
  return {codes.begin(), codes.end()};
}

// One number a row, of answers of the kind passed_answer().
template <class T>
std::vector<double> TargetChain<T>::passed_on(const Link& link, const std::vector<double>& answers) const {
  if (link.classes.empty() || passed_answer() == Answer::kDecision) return answers;
  if (passed_answer() == Answer::kPredict) return chosen(numbers_of_classes(link.classes), answers);
  std::vector<double> passed;
  const bool is_log = chain_method_ == "predict_log_proba";
  for (std::size_t i = 1; i < answers.size(); i += 2) passed.push_back(is_log ? std::log(answers[i]) : answers[i]);
  return passed;
}

// What is passed on, if a table can hold it.
template <class T>
std::vector<double> TargetChain<T>::checked(const Link& link, std::vector<double> passed) const {
  constexpr auto kLargest = static_cast<double>(std::numeric_limits<T>::max());
  for (std::size_t i = 0; i < passed.size(); ++i)
    require(std::abs(passed[i]) <= kLargest, ErrorCode::kBadData,
            "{}: {} passes on {} in row {} (counted from 0), must be a finite {}", owner_of(link), chain_method_,
            passed[i], i, std::is_same_v<T, float> ? "float32" : "float64");
  return passed;
}

// What copies of the link, fitted on the rows of the other folds, pass on of the rows of each fold.
template <class T>
std::vector<double> TargetChain<T>::passed_by_folds(const Context& ctx, const Link& link, const Samples<T>& X,
                                                    const Target& y) const {
  const std::string owner = owner_of(link);
  const std::vector<std::int32_t> fold_of = fold_numbers(owner.c_str(), y, *params_.cv);
  PlannedFit of_fold = like_.planned(X.n_rows() - X.n_rows() / *params_.cv, X.n_cols());
  of_fold.is_large = false;   // it leaves answers alone
  const std::vector<PlannedFit> planned(static_cast<std::size_t>(*params_.cv), of_fold);
  NestedPredictor<T> copy = like_.again();
  const auto passed = numbers_of_fits(ctx, planned, [&](const Context& inner, std::size_t i) {
    const auto k = static_cast<std::int32_t>(i);
    const std::vector<std::int32_t> fitted = rows_in_fold(fold_of, k, false);
    copy.fit(inner, owner, rows_at(inner, X, fitted), rows_at(y, fitted));
    const Samples<T> others = rows_at(inner, X, rows_in_fold(fold_of, k, true));
    return passed_on(link, asked(inner, link, copy, passed_answer(), others));
  });
  std::vector<double> all(static_cast<std::size_t>(X.n_rows()));
  std::vector<std::size_t> next(passed.size());   // of each fold
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto k = static_cast<std::size_t>(fold_of[i]);
    all[i] = passed[k][next[k]++];
  }
  return all;
}

template <class T>
void TargetChain<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(name_, X);
  require(!y.outputs.empty(), ErrorCode::kBadData, "{}: there are no target columns, it needs at least one", name_);
  const std::int64_t n = std::ssize(y.outputs);
  order_ = order_of(ctx, n);
  check_classes(y);
  links_.clear();
  Columns before;
  for (const std::int32_t place : order_) {
    ctx.check_stop();
    const TargetOutput& output = y.outputs[static_cast<std::size_t>(place)];
    links_.push_back({output.name, like_.is_classifier() ? output.classes : std::vector<std::string>(), like_.again()});
    Link& link = links_.back();
    const Samples<T> read = extended(ctx, X, before);
    link.predictor.fit(ctx, owner_of(link), read, target_of(link, output, y.weights));
    ctx.progress("targets", std::ssize(links_), n, "targets");
    if (std::ssize(links_) == n) break;
    before.push_back(checked(
        link, params_.cv ? passed_by_folds(ctx, link, read, target_of(link, output, {})) : true_values(link, output)));
  }
}

template <class T>
std::vector<std::int32_t> TargetChain<T>::class_counts() const {
  std::vector<std::int32_t> counts(links_.size());
  for (std::size_t i = 0; i < links_.size(); ++i)
    counts[static_cast<std::size_t>(order_[i])] = static_cast<std::int32_t>(links_[i].classes.size());
  return counts;
}

// By target, what its link answers.
template <class T>
typename TargetChain<T>::Columns TargetChain<T>::answers(const Context& ctx, const Samples<T>& X, Answer wanted) const {
  Columns all(links_.size()), before;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    ctx.check_stop();
    const Link& link = links_[i];
    const Samples<T> read = extended(ctx, X, before);
    std::vector<double> own = asked(ctx, link, link.predictor, wanted, read);
    if (i + 1 < links_.size()) {
      const bool is_same = wanted == passed_answer();
      const std::vector<double> passed =
          is_same ? std::vector<double>() : asked(ctx, link, link.predictor, passed_answer(), read);
      before.push_back(checked(link, passed_on(link, is_same ? own : passed)));
    }
    all[static_cast<std::size_t>(order_[i])] = std::move(own);
  }
  return all;
}

template <class T>
std::vector<std::vector<double>> TargetChain<T>::predict(const Context& ctx, const Samples<T>& X) const {
  return answers(ctx, X, Answer::kPredict);
}

template <class T>
std::vector<std::vector<double>> TargetChain<T>::predict_proba(const Context& ctx, const Samples<T>& X) const {
  return answers(ctx, X, Answer::kProba);
}

template <class T>
schema::ValueMap TargetChain<T>::attributes() const {
  schema::ValueList estimators, classes;
  for (const Link& link : links_) {
    estimators.push_back(link.predictor.attributes());
    classes.emplace_back(schema::ValueList(link.classes.begin(), link.classes.end()));
  }
  schema::ValueMap map{{"estimators_", std::move(estimators)},
                       {"order_", schema::ValueList(order_.begin(), order_.end())}};
  if (!like_.is_classifier()) return map;
  map.emplace_back("classes_", std::move(classes));
  map.emplace_back("chain_method_", chain_method_);
  return map;
}

template <class T>
void TargetChain<T>::state(StateArchive& archive) {
  const std::size_t count = archive.count("links", links_.size());
  const auto n = static_cast<std::int64_t>(count);
  archive.indices("order", order_, n, 0, n - 1);
  archive.expect(is_permutation(order_), "order", "has a position twice");
  if (archive.is_loading()) links_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (archive.is_loading()) links_.push_back({{}, {}, like_.again()});
    Link& link = links_[i];
    archive.field("target", link.target);
    archive.field("classes", link.classes);
    archive.expect(link.classes.empty() != like_.is_classifier(), "classes", "do not fit the estimator");
    archive.expect(link.classes.size() <= static_cast<std::size_t>(kMaxSize), "classes", "are too many");
    archive.expect(passed_answer() == Answer::kPredict || i + 1 == count || link.classes.size() == 2, "classes",
                   "are not two");
    const StateArchive::Scope scope(archive, "target", archive.n_features() + static_cast<std::int64_t>(i),
                                    static_cast<std::int32_t>(link.classes.size()));
    link.predictor.state(archive);
  }
}

template <class T>
ClassifierChain<T>::ClassifierChain(const schema::ValueMap& params)
    : TargetChain<T>(kClassifier, classifier_params().parse(params), kClassifierOf,
                     NestedPredictor<T>::Kind::kClassifier) {}

template <class T>
schema::EstimatorInfo ClassifierChain<T>::info() {
  schema::EstimatorInfo info =
      info_of(kClassifier, "classifier",
              "Fit a copy of a classifier to each of several target columns, one after the other; "
              "each reads the columns before its own.",
              classifier_params().infos());
  info.attributes.insert(info.attributes.end(), {"classes_", "chain_method_"});
  info.deviations.emplace_back("Probabilities are those of all classes of each column.");
  info.deviations.emplace_back(
      "A class is passed on as its number, or as its position where a class of the column "
      "has a name that is no number.");
  return info;
}

template <class T>
RegressorChain<T>::RegressorChain(const schema::ValueMap& params)
    : TargetChain<T>(kRegressor, regressor_params().parse(params), kRegressorOf, NestedPredictor<T>::Kind::kRegressor) {
}

template <class T>
schema::EstimatorInfo RegressorChain<T>::info() {
  return info_of(kRegressor, "regressor",
                 "Fit a copy of a regressor to each of several target columns, one after the other; each reads the "
                 "columns before its own.",
                 regressor_params().infos());
}

template class ClassifierChain<float>;
template class ClassifierChain<double>;
template class RegressorChain<float>;
template class RegressorChain<double>;

}   // namespace kedge::engine
