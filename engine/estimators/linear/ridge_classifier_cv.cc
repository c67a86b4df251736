// RidgeClassifierCV: scores of rows that are left out or in folds, and the choice.
#include "engine/estimators/linear/ridge_classifier_cv.h"

#include <algorithm>
#include <cmath>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/inner_folds.h"
#include "engine/estimators/linear/class_signs.h"
#include "engine/estimators/linear/ridge_left_out.h"

namespace kedge::engine {
namespace {

using P = RidgeClassifierCVParams;
constexpr const char* kName = "RidgeClassifierCV";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("alphas", &P::alphas, {number_form(at_least(0)), array_form()}, "Penalties to choose from.")
          .add("fit_intercept", &P::fit_intercept, "Fit an intercept, which is not penalised.")
          .any("scoring", &P::scoring, {string_form({"accuracy"}), null_form()},
               "What is best; null: the squared errors of the targets, or accuracy with cv.")
          .add("cv", &P::cv, at_least(2), "Number of folds; null leaves out one row at a time.")
          .any("class_weight", &P::class_weight, class_weight_forms(),
               "Weight of each class: an object by class name, balanced, or null for 1 each.")
          .add("store_cv_results", &P::store_cv_results,
               "Give the errors, or with scoring the predictions, of each row under each alpha; not with cv.");
  return set;
}

// Position of the class of a row with these scores: the first largest, or of two classes the second above 0.
std::int32_t best_position(const double* scores, std::size_t n_targets, std::size_t stride) {
  if (n_targets == 1) return scores[0] > 0 ? 1 : 0;
  std::size_t best = 0;
  for (std::size_t t = 1; t < n_targets; ++t)
    if (scores[t * stride] > scores[best * stride]) best = t;
  return static_cast<std::int32_t>(best);
}

std::int32_t position_of(const PresentClasses& present, const Target& y, std::size_t row) {
  return present.positions[static_cast<std::size_t>(y.codes[row])];
}

}   // namespace

template <class T>
RidgeClassifierCV<T>::RidgeClassifierCV(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  check_class_weight(kName, params_.class_weight);
  const auto* one = std::get_if<double>(&params_.alphas.data);
  alphas_ = one ? std::vector<double>{*one} : numbers_of(params_.alphas).value_or(std::vector<double>{});
  if (alphas_.empty()) refuse_param(kName, "alphas", params_.alphas, "must have at least one number");
  for (const double alpha : alphas_)
    if (!(params_.cv ? alpha >= 0 : alpha > 0))
      refuse_param(kName, "alphas", params_.alphas,
                   params_.cv ? "must not have negative numbers" : "must have positive numbers only, unless cv is set");
  if (params_.cv && params_.store_cv_results) refuse_param(kName, "store_cv_results", true, "does not go with cv");
}

template <class T>
schema::EstimatorInfo RidgeClassifierCV<T>::info() {
  return {.name = kName,
          .kind = "classifier",
          .family = "linear_model",
          .doc = "Ridge classification with its penalty chosen by exact leave-one-out, or by folds.",
          .params = param_set().infos(),
          .attributes = {"alpha_", "best_score_", "classes_", "coef_", "intercept_", "cv_results_"},
          .deviations = {
              "cv is a number of folds (StratifiedKFold without shuffling), not a splitter.",
              "scoring is accuracy or null. With two classes accuracy is of the classes; scikit-learn 1.9 finds 1 for "
              "every penalty there.",
              "Sparse data are made dense."}};
}

template <class T>
std::vector<double> RidgeClassifierCV<T>::left_out_scores(const Context& ctx, RidgeProblem<T>& problem, const Target& y,
                                                          const std::vector<double>& weights) {
  const std::int64_t n_targets = problem.linear().n_targets();
  Matrix<double> left_out = left_out_errors(ctx, problem, alphas_, params_.fit_intercept, weights);
  if (!params_.scoring && !params_.store_cv_results)
    return left_out_scores_of_squares(ctx, std::move(left_out), n_targets);
  const auto targets = static_cast<std::size_t>(n_targets), count = alphas_.size(), cols = targets * count;
  std::vector<double> cells = left_out.to_host(), scores(count, 0.0);
  double total = 0;
  for (std::size_t i = 0; i < y.codes.size(); ++i) {
    const std::int32_t position = position_of(present_, y, i);
    const double weight = weights.empty() ? 1.0 : weights[i], root = std::sqrt(weight);
    double* row = cells.data() + i * cols;
    total += weight;
    for (std::size_t e = 0; e < cols; ++e) {
      const auto own = static_cast<std::int32_t>(targets == 1 ? 1 : e / count);
      if (params_.scoring) row[e] = (position == own ? 1.0 : -1.0) - (root > 0 ? row[e] / root : 0.0);
      else row[e] *= row[e], scores[e % count] -= row[e] / static_cast<double>(y.codes.size() * targets);
    }
    for (std::size_t a = 0; params_.scoring && a < count; ++a)
      scores[a] += best_position(row + a, targets, count) == position ? weight : 0.0;
  }
  for (double& score : scores) score = params_.scoring ? score / total : score;
  if (params_.store_cv_results) cv_results_ = std::move(cells);
  return scores;
}

template <class T>
std::vector<double> RidgeClassifierCV<T>::fold_scores(const Context& ctx, const Samples<T>& X, const Target& y,
                                                      const std::vector<double>& by_class) const {
  const std::int64_t n_folds = *params_.cv;
  const std::vector<std::int32_t> folds = fold_numbers(kName, y, n_folds);
  std::vector<double> scores(alphas_.size(), 0.0);
  for (std::int32_t fold = 0; fold < n_folds; ++fold) {
    ctx.check_stop();
    const std::vector<std::int32_t> train = rows_in_fold(folds, fold, false), test = rows_in_fold(folds, fold, true);
    const Target fitted = rows_at(y, train), scored = rows_at(y, test);
    const Matrix<double> signs = device_class_signs(ctx, present_, fitted);
    const RowWeights weights(ctx, by_class, present_, fitted);
    RidgeProblem<T> problem(ctx, kName, rows_at(ctx, X, train), signs.view(), weights.view(), params_.fit_intercept);
    const auto solutions = problem.solve_each(ctx, alphas_, {.fit_intercept = params_.fit_intercept});
    const Samples<T> rows = rows_at(ctx, X, test);
    const std::vector<double> row_weights = class_row_weights(by_class, present_, scored);
    const auto targets = static_cast<std::size_t>(signs.cols());
    for (std::size_t a = 0; a < solutions.size(); ++a) {
      const std::vector<double> values = linear_values(ctx, rows, solutions[a].coef, solutions[a].intercept).to_host();
      double right = 0, total = 0;
      for (std::size_t i = 0; i < scored.codes.size(); ++i) {
        const double weight = row_weights.empty() ? 1.0 : row_weights[i];
        total += weight;
        right +=
            best_position(values.data() + i * targets, targets, 1) == position_of(present_, scored, i) ? weight : 0.0;
      }
      scores[a] += right / total / static_cast<double>(n_folds);
    }
  }
  return scores;
}

template <class T>
void RidgeClassifierCV<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  require(X.n_rows() >= 2 || params_.cv, schema::ErrorCode::kBadData,
          "{}: got 1 row, needs at least 2 to leave one out", kName);
  present_ = PresentClasses(ctx, y);
  n_features_ = X.n_cols();
  cv_results_.clear();
  const std::vector<double> by_class = class_weights(kName, params_.class_weight, present_, y);
  const Matrix<double> signs = device_class_signs(ctx, present_, y);
  const RowWeights weights(ctx, by_class, present_, y);
  RidgeProblem<T> problem(ctx, kName, X, signs.view(), weights.view(), params_.fit_intercept);
  const std::vector<double> scores = params_.cv
                                         ? fold_scores(ctx, X, y, by_class)
                                         : left_out_scores(ctx, problem, y, class_row_weights(by_class, present_, y));
  const auto best = std::ranges::max_element(scores);
  best_score_ = *best, alpha_ = alphas_[static_cast<std::size_t>(best - scores.begin())];
  solution_ = problem.solve(ctx, {alpha_}, {.fit_intercept = params_.fit_intercept});
}

template <class T>
void RidgeClassifierCV<T>::decision_function(const Context& ctx, const Samples<T>& X,
                                             MatrixView<double> decision) const {
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  sign_decision(ctx, present_, linear_values(ctx, X, solution_.coef, solution_.intercept).to_host(), decision);
}

template <class T>
std::vector<std::int32_t> RidgeClassifierCV<T>::predict(const Context& ctx, const Samples<T>& X) const {
  if (present_.size() <= 2) return Classifier<T>::predict(ctx, X);
  require_fitted_columns(kName, X, static_cast<std::size_t>(n_features_));
  const Matrix<double> values = linear_values(ctx, X, solution_.coef, solution_.intercept);
  return best_codes(ctx, present_, values.view());
}

template <class T>
schema::ValueMap RidgeClassifierCV<T>::attributes() const {
  const bool one = solution_.intercept.size() == 1;   // scikit-learn gives the one row of two classes as a list
  schema::ValueMap map{{"alpha_", alpha_},
                       {"best_score_", best_score_},
                       {"classes_", present_.names_value()},
                       {"coef_", one ? schema::Value(solution_.coef) : rows_value(solution_.coef, n_features_)},
                       {"intercept_", params_.fit_intercept ? schema::Value(solution_.intercept) : schema::Value(0.0)}};
  if (cv_results_.empty()) return map;
  const auto count = static_cast<std::int64_t>(alphas_.size());
  const std::size_t cols = alphas_.size() * solution_.intercept.size();
  schema::ValueList rows;
  for (auto row = cv_results_.begin(); row != cv_results_.end(); row += static_cast<std::ptrdiff_t>(cols))
    rows.push_back(rows_value({row, row + static_cast<std::ptrdiff_t>(cols)}, count));
  map.emplace_back("cv_results_", std::move(rows));
  return map;
}

template <class T>
void RidgeClassifierCV<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  present_.state(archive);
  const std::int64_t targets = sign_targets(present_);
  solution_.state(archive, targets);
  archive.field("alpha", alpha_);
  archive.field("best_score", best_score_);
  archive.field("alphas", alphas_, kAnySize);
  archive.expect(!alphas_.empty(), "alphas", "is empty");
  archive.field("cv_results", cv_results_, kAnySize, static_cast<std::int64_t>(alphas_.size()) * targets);
}

template class RidgeClassifierCV<float>;
template class RidgeClassifierCV<double>;

}   // namespace kedge::engine
