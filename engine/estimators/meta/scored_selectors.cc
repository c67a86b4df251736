// Chooses columns by the scores of folds: one after the other, or by elimination.
#include "engine/estimators/meta/scored_selectors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;

constexpr const char *kSequential = "SequentialFeatureSelector", *kRfecv = "RFECV";
constexpr std::int64_t kFolds = 5;

// scikit-learn has no default; a catalogue row must have one.
Value or_default(const Value& estimator) {
  return estimator.is_null() ? Value(schema::ValueMap{{"estimator", "RidgeClassifier"}}) : estimator;
}

std::vector<schema::ParamForm> estimator_forms() {
  std::vector<schema::ParamForm> forms = predictor_forms();
  forms.push_back(null_form());
  return forms;
}

const char* const kScoringDoc = "What folds are compared by; null takes accuracy or R^2.";

const ParamSet<SequentialParams>& sequential_params() {
  using P = SequentialParams;
  static const ParamSet<P> set =
      ParamSet<P>(kSequential)
          .any("estimator", &P::estimator, estimator_forms(), "Is fitted on the columns; null takes RidgeClassifier.")
          .any("n_features_to_select", &P::n_features_to_select,
               {string_form({"auto"}), integer_form(at_least(1)), number_form(inside(0, 1))},
               "Columns to keep: a number, or a share of all; auto takes half, or with tol as many as help.")
          .add("tol", &P::tol, Bounds{}, "Least gain of a column with auto; null for any.")
          .add("direction", &P::direction, {"forward", "backward"}, "Take columns in, or leave them out.")
          .any("scoring", &P::scoring, {string_form(fold_scorings()), null_form()}, kScoringDoc)
          .add("cv", &P::cv, at_least(2), "Number of folds.")
          .ignore("n_jobs", nullptr, {integer_form(), null_form()});
  return set;
}

const ParamSet<RfecvParams>& rfecv_params() {
  using P = RfecvParams;
  static const ParamSet<P> set =
      ParamSet<P>(kRfecv)
          .any("estimator", &P::estimator, estimator_forms(), "Judges the columns; null takes RidgeClassifier.")
          .any("step", &P::step, {integer_form(at_least(1)), number_form(inside(0, 1))},
               "Columns that each round leaves out: a number, or a share of all.")
          .add("min_features_to_select", &P::min_features_to_select, at_least(1), "Fewest columns to keep.")
          .add("cv", &P::cv, at_least(2), "Number of folds; null for 5.")
          .any("scoring", &P::scoring, {string_form(fold_scorings()), null_form()}, kScoringDoc)
          .ignore("verbose", 0, {integer_form(at_least(0)), boolean_form()})
          .ignore("n_jobs", nullptr, {integer_form(), null_form()})
          .any("importance_getter", &P::importance_getter, {string_form()},
               "The attribute to read; auto takes coef_, else feature_importances_.");
  return set;
}

void check_scoring(const char* owner, const std::optional<std::string>& scoring, bool is_classifier) {
  if (scoring && (*scoring == "accuracy") != is_classifier)
    refuse_param(owner, "scoring", *scoring,
                 is_classifier ? "must be accuracy for a classifier" : "must not be accuracy for a regressor");
}

const std::vector<std::string>& scoring_deviations() {
  static const std::vector<std::string> list{
      "scoring is null, accuracy, r2, neg_mean_squared_error or neg_mean_absolute_error; cv a number of folds.",
      "It only transforms: the predictor follows as a step of its own."};
  return list;
}

template <class T>
struct Fold {
  std::vector<std::int32_t> train, test;
  Target fitted, scored;
};

template <class T>
std::vector<Fold<T>> folds_of(const char* owner, const Target& y, std::int64_t n) {
  const std::vector<std::int32_t> numbers = fold_numbers(owner, y, n);
  std::vector<Fold<T>> folds;
  for (std::int32_t fold = 0; fold < n; ++fold) {
    Fold<T> own{.train = rows_in_fold(numbers, fold, false), .test = rows_in_fold(numbers, fold, true)};
    own.fitted = rows_at(y, own.train), own.scored = rows_at(y, own.test);
    folds.push_back(std::move(own));
  }
  return folds;
}

// Fits of which scores are left.
template <class T>
PlannedFit asked(const NestedPredictor<T>& predictor, const Samples<T>& X) {
  PlannedFit planned = predictor.planned(X.n_rows(), X.n_cols());
  planned.is_large = false;
  return planned;
}

}   // namespace

template <class T>
SequentialFeatureSelector<T>::SequentialFeatureSelector(const schema::ValueMap& params)
    : params_(sequential_params().parse(params)),
      predictor_(or_default(params_.estimator), "params.estimator", NestedPredictor<T>::Kind::kEither) {
  check_scoring(kSequential, params_.scoring, predictor_.is_classifier());
  if (params_.tol && *params_.tol < 0 && params_.direction == "forward")
    refuse_param(kSequential, "tol", *params_.tol, "must be at least 0 with direction forward");
}

template <class T>
schema::EstimatorInfo SequentialFeatureSelector<T>::info() {
  return {.name = kSequential,
          .kind = "transformer",
          .family = "feature_selection",
          .doc = "Take columns in, or leave them out, one at a time, by how an estimator then scores in folds.",
          .params = sequential_params().infos(),
          .attributes = {"n_features_to_select_", "support_"},
          .deviations = scoring_deviations()};
}

template <class T>
std::int64_t SequentialFeatureSelector<T>::wanted(std::int64_t n_features) const {
  const Value& value = params_.n_features_to_select;
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return *whole;
  if (const auto* share = std::get_if<double>(&value.data))
    return static_cast<std::int64_t>(static_cast<double>(n_features) * *share);
  return params_.tol ? n_features - 1 : n_features / 2;
}

template <class T>
void SequentialFeatureSelector<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kSequential, X);
  n_features_ = X.n_cols();
  require(n_features_ >= 2, ErrorCode::kBadData, "{}: got 1 column, needs at least 2", kSequential);
  const std::int64_t n_kept = wanted(n_features_);
  require(n_kept < n_features_, ErrorCode::kBadData, "{}: n_features_to_select is {}, must be less than the {} columns",
          kSequential, n_kept, n_features_);
  const auto folds = folds_of<T>(kSequential, y, params_.cv);
  const bool is_backward = params_.direction == "backward";
  const bool is_auto = std::holds_alternative<std::string>(params_.n_features_to_select.data);
  const std::int64_t rounds = is_auto || !is_backward ? n_kept : n_features_ - n_kept;
  std::vector<char> taken(static_cast<std::size_t>(n_features_), 0);
  double before = -std::numeric_limits<double>::infinity();
  const auto chosen = [&](const std::vector<char>& mask) {
    std::vector<std::int32_t> columns;
    for (std::int64_t j = 0; j < n_features_; ++j)
      if ((mask[static_cast<std::size_t>(j)] != 0) != is_backward) columns.push_back(static_cast<std::int32_t>(j));
    return columns;
  };
  const auto score = [&](const Context& inner, const std::vector<std::int32_t>& columns) {
    const Samples<T> part = columns_for_now(inner, X, columns);
    double sum = 0;
    for (const Fold<T>& fold : folds) {
      inner.check_stop();
      predictor_.fit(inner, kSequential, rows_at(inner, part, fold.train), fold.fitted);
      sum += fold_score(inner, kSequential, params_.scoring.value_or(""), predictor_, rows_at(inner, part, fold.test),
                        fold.scored);
    }
    return sum / static_cast<double>(folds.size());
  };
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<std::size_t> left;
    for (std::size_t j = 0; j < taken.size(); ++j)
      if (!taken[j]) left.push_back(j);
    const std::vector<PlannedFit> planned(left.size(), asked(predictor_, X));
    const auto scores = numbers_of_fits(ctx, planned, [&](const Context& inner, std::size_t i) {
      std::vector<char> mask = taken;
      mask[left[i]] = 1;
      return std::vector<double>{score(inner, chosen(mask))};
    });
    std::size_t best = 0;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < left.size(); ++i)
      if (scores[i][0] > most) most = scores[i][0], best = left[i];
    if (is_auto && params_.tol && most - before < *params_.tol) break;
    before = most, taken[best] = 1;
    ctx.progress("columns", round + 1, rounds, "columns");
  }
  kept_ = chosen(taken);
}

template <class T>
Samples<T> SequentialFeatureSelector<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kSequential, X, static_cast<std::size_t>(n_features_));
  return selected_columns(ctx, X, kept_);
}

template <class T>
schema::ValueMap SequentialFeatureSelector<T>::attributes() const {
  return {{"n_features_to_select_", static_cast<std::int64_t>(kept_.size())},
          {"support_", mask_of(kept_, n_features_)}};
}

template <class T>
void SequentialFeatureSelector<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.indices("kept", kept_, kAnySize, 0, archive.n_features() - 1);
}

template <class T>
RFECV<T>::RFECV(const schema::ValueMap& params)
    : params_(rfecv_params().parse(params)),
      predictor_(or_default(params_.estimator), "params.estimator", NestedPredictor<T>::Kind::kEither) {
  check_scoring(kRfecv, params_.scoring, predictor_.is_classifier());
}

template <class T>
schema::EstimatorInfo RFECV<T>::info() {
  return {.name = kRfecv,
          .kind = "transformer",
          .family = "feature_selection",
          .doc = "Leave out the columns that an estimator finds least important, as many as folds score best with.",
          .params = rfecv_params().infos(),
          .attributes = {"estimator_", "n_features_", "support_", "ranking_", "cv_results_", "classes_"},
          .deviations = scoring_deviations()};
}

template <class T>
void RFECV<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kRfecv, X);
  const std::int64_t n_features = X.n_cols();
  require(n_features >= 2, ErrorCode::kBadData, "{}: got 1 column, needs at least 2", kRfecv);
  Elimination options{kRfecv, std::min(params_.min_features_to_select, n_features),
                      elimination_step(params_.step, n_features), params_.importance_getter};
  sizes_.clear(), scores_.clear();
  const auto folds = folds_of<T>(kRfecv, y, params_.cv.value_or(kFolds));
  const std::vector<PlannedFit> planned(folds.size(), asked(predictor_, X));
  const auto of_folds = numbers_of_fits(ctx, planned, [&](const Context& inner, std::size_t i) {
    const Fold<T>& fold = folds[i];
    std::vector<double> sizes, scores;
    const Samples<T> scored = rows_at(inner, X, fold.test);
    eliminate<T>(inner, options, predictor_, rows_at(inner, X, fold.train), fold.fitted,
                 [&](const std::vector<std::int32_t>& columns) {
                   sizes.push_back(static_cast<double>(columns.size()));
                   scores.push_back(fold_score(inner, kRfecv, params_.scoring.value_or(""), predictor_,
                                               columns_for_now(inner, scored, columns), fold.scored));
                 });
    std::ranges::reverse(sizes), std::ranges::reverse(scores);
    sizes.insert(sizes.end(), scores.begin(), scores.end());
    return sizes;
  });
  for (const std::vector<double>& both : of_folds) {   // sizes, the same in each fold, and scores
    const auto scores = both.begin() + std::ssize(both) / 2;
    sizes_.assign(both.begin(), scores);
    scores_.insert(scores_.end(), scores, both.end());
  }
  std::vector<double> sums(sizes_.size(), 0.0);
  for (std::size_t e = 0; e < scores_.size(); ++e) sums[e % sums.size()] += scores_[e];
  options.n_kept = sizes_[static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin())];
  done_ = eliminate<T>(ctx, options, predictor_, X, y, {});
}

template <class T>
Samples<T> RFECV<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kRfecv, X, done_.ranking.size());
  return selected_columns(ctx, X, done_.kept);
}

template <class T>
schema::ValueMap RFECV<T>::attributes() const {
  const schema::ValueMap judge = predictor_.last_attributes();
  const Value* const classes = find_value(judge, "classes_");
  const std::size_t rounds = sizes_.size(), folds = rounds ? scores_.size() / rounds : 0;
  std::vector<double> mean(rounds, 0.0), deviation(rounds, 0.0);
  for (std::size_t e = 0; e < scores_.size(); ++e) mean[e % rounds] += scores_[e] / static_cast<double>(folds);
  for (std::size_t e = 0; e < scores_.size(); ++e)
    deviation[e % rounds] += std::pow(scores_[e] - mean[e % rounds], 2) / static_cast<double>(folds);
  for (double& square : deviation) square = std::sqrt(square);
  schema::ValueMap results{{"mean_test_score", mean}, {"std_test_score", deviation}};
  for (std::size_t fold = 0; fold < folds; ++fold) {
    const auto first = scores_.begin() + static_cast<std::ptrdiff_t>(fold * rounds);
    results.emplace_back("split" + std::to_string(fold) + "_test_score",
                         std::vector<double>(first, first + static_cast<std::ptrdiff_t>(rounds)));
  }
  results.emplace_back("n_features", schema::ValueList(sizes_.begin(), sizes_.end()));
  schema::ValueMap map{{"estimator_", predictor_.attributes()},
                       {"n_features_", static_cast<std::int64_t>(done_.kept.size())},
                       {"support_", mask_of(done_.kept, static_cast<std::int64_t>(done_.ranking.size()))},
                       {"ranking_", schema::ValueList(done_.ranking.begin(), done_.ranking.end())},
                       {"cv_results_", std::move(results)}};
  if (classes) map.emplace_back("classes_", *classes);
  return map;
}

template <class T>
void RFECV<T>::state(StateArchive& archive) {
  const std::int64_t d = archive.n_features();
  archive.field("ranking", done_.ranking, d);
  archive.indices("kept", done_.kept, kAnySize, 0, d - 1);
  archive.expect(!done_.kept.empty(), "kept", "names no column");
  archive.field("sizes", sizes_, kAnySize);
  archive.field("scores", scores_, kAnySize);
  const auto rounds = static_cast<std::int64_t>(sizes_.size()), scores = static_cast<std::int64_t>(scores_.size());
  archive.expect(rounds > 0 && scores % rounds == 0, "scores", "is not a row of scores for each fold");
  const StateArchive::Scope scope(archive, "estimator",
                                  std::max<std::int64_t>(1, static_cast<std::int64_t>(done_.kept.size())));
  predictor_.state(archive);
}

template class SequentialFeatureSelector<float>;
template class SequentialFeatureSelector<double>;
template class RFECV<float>;
template class RFECV<double>;

}   // namespace kedge::engine
