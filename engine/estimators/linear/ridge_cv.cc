// RidgeCV: scores of rows that are left out, and the choice.
#include "engine/estimators/linear/ridge_cv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/elastic_net_folds.h"
#include "engine/estimators/linear/ridge_left_out.h"

namespace kedge::engine {
namespace {

using P = RidgeCVParams;
constexpr const char* kName = "RidgeCV";

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("alphas", &P::alphas, {number_form(at_least(0)), array_form()}, "Penalties to choose from.")
          .add("fit_intercept", &P::fit_intercept, "Fit an intercept, which is not penalised.")
          .any("scoring", &P::scoring,
               {string_form({"neg_mean_squared_error", "neg_root_mean_squared_error", "neg_mean_absolute_error", "r2"}),
                null_form()},
               "What is best; null: the mean squared error, or r2 with cv.")
          .add("cv", &P::cv, at_least(2), "Number of folds; null leaves out one row at a time.")
          .any("gcv_mode", &P::gcv_mode, {string_form({"auto", "svd", "eigen"}), null_form()},
               "Has no influence on the answer: always by eigenvectors.")
          .add("store_cv_results", &P::store_cv_results, "Give the errors of each row under each alpha; not with cv.")
          .add("alpha_per_target", &P::alpha_per_target, "Has no influence: there is one target.");
  return set;
}

// Greater is better.
double score_of(const std::string& scoring, const std::vector<double>& truth, const std::vector<double>& values,
                const std::vector<double>& weights) {
  double total = 0, mean = 0, squares = 0, absolute = 0, spread = 0;
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  for (std::size_t i = 0; i < truth.size(); ++i) total += weight(i), mean += weight(i) * truth[i];
  mean /= total;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double error = values[i] - truth[i], deviation = truth[i] - mean;
    squares += weight(i) * error * error, absolute += weight(i) * std::abs(error), spread += weight(i) * deviation * deviation;
  }
  if (scoring == "neg_mean_absolute_error") return -absolute / total;
  if (scoring == "neg_root_mean_squared_error") return -std::sqrt(squares / total);
  if (scoring == "r2") return spread > 0 ? 1 - squares / spread : (squares > 0 ? 0.0 : 1.0);
  return -squares / total;
}

}   // namespace

template <class T>
RidgeCV<T>::RidgeCV(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  const auto* one = std::get_if<double>(&params_.alphas.data);
  alphas_ = one ? std::vector<double>{*one} : numbers_of(params_.alphas).value_or(std::vector<double>{});
  if (alphas_.empty()) refuse_param(kName, "alphas", params_.alphas, "must have at least one number");
  for (const double alpha : alphas_)
    if (!(params_.cv ? alpha >= 0 : alpha > 0))
      refuse_param(kName, "alphas", params_.alphas,
                   params_.cv ? "must not have negative numbers" : "must have positive numbers only, unless cv is set");
  if (params_.cv && params_.store_cv_results) refuse_param(kName, "store_cv_results", true, "does not go with cv");
  if (params_.cv && params_.alpha_per_target) refuse_param(kName, "alpha_per_target", true, "does not go with cv");
}

template <class T>
schema::EstimatorInfo RidgeCV<T>::info() {
  return {.name = kName,
          .kind = "regressor",
          .family = "linear_model",
          .doc = "Ridge regression with its penalty chosen by exact leave-one-out, or by folds.",
          .params = param_set().infos(),
          .attributes = {"alpha_", "best_score_", "coef_", "intercept_", "cv_results_"},
          .deviations = {"cv is a number of folds (KFold without shuffling), not a splitter.", "scoring is one of four names.",
                         "gcv_mode has no influence on the answer."}};
}

template <class T>
std::vector<double> RidgeCV<T>::left_out_scores(const Context& ctx, RidgeProblem<T>& problem, const Target& y) {
  const std::size_t n = y.values.size(), count = alphas_.size();
  const auto weight = [&](std::size_t i) { return y.weights.empty() ? 1.0 : y.weights[i]; };
  Matrix<double> left_out = left_out_errors(ctx, problem, alphas_, params_.fit_intercept, y.weights);
  if (!params_.scoring && !params_.store_cv_results) return left_out_scores_of_squares(ctx, std::move(left_out), 1);
  const std::vector<double> errors = left_out.to_host();
  cv_results_.assign(params_.store_cv_results ? errors.size() : 0, 0.0);
  std::vector<double> scores;
  for (std::size_t a = 0; a < count; ++a) {
    std::vector<double> values(n);
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double error = errors[i * count + a], root = std::sqrt(weight(i));
      squares += error * error;
      values[i] = y.values[i] - (root > 0 ? error / root : 0.0);
      if (params_.store_cv_results) cv_results_[i * count + a] = params_.scoring ? values[i] : error * error;
    }
    scores.push_back(params_.scoring ? score_of(*params_.scoring, y.values, values, y.weights)
                                     : -squares / static_cast<double>(n));
  }
  return scores;
}

template <class T>
std::vector<double> RidgeCV<T>::fold_scores(const Context& ctx, const Samples<T>& X, const Target& y) const {
  const auto count = static_cast<std::int64_t>(alphas_.size());
  const std::vector<FoldRange> folds = fold_ranges(kName, X.n_rows(), *params_.cv);
  std::vector<double> scores(alphas_.size(), 0.0);
  for (const FoldRange& fold : folds) {
    const std::vector<double> train = without_rows(y.values, fold), test = only_rows(y.values, fold);
    std::vector<double> repeated;   // each alpha has a target of its own, so that one Gram matrix serves all
    for (const double v : train) repeated.insert(repeated.end(), alphas_.size(), v);
    RidgeProblem<T> problem(ctx, kName, without_rows(ctx, X, fold), repeated, count, without_rows(y.weights, fold),
                            params_.fit_intercept);
    const std::vector<double> weights = only_rows(y.weights, fold);
    const RidgeSolution solution = problem.solve(ctx, alphas_, {.fit_intercept = params_.fit_intercept});
    const std::vector<double> values = linear_values(ctx, only_rows(ctx, X, fold), solution.coef, solution.intercept).to_host();
    for (std::size_t a = 0; a < alphas_.size(); ++a) {
      std::vector<double> own;
      for (std::size_t i = 0; i < test.size(); ++i) own.push_back(values[i * alphas_.size() + a]);
      scores[a] += score_of(params_.scoring.value_or("r2"), test, own, weights) / static_cast<double>(folds.size());
    }
  }
  return scores;
}

template <class T>
void RidgeCV<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  RidgeProblem<T> problem(ctx, kName, X, y.device_values(ctx), y.device_weights(ctx), params_.fit_intercept);
  require(X.n_rows() >= 2 || params_.cv, schema::ErrorCode::kBadData, "{}: got 1 row, needs at least 2 to leave one out", kName);
  cv_results_.clear();
  const std::vector<double> scores = params_.cv ? fold_scores(ctx, X, y) : left_out_scores(ctx, problem, y);
  const auto best = std::ranges::max_element(scores);
  best_score_ = *best, alpha_ = alphas_[static_cast<std::size_t>(best - scores.begin())];
  solution_ = problem.solve(ctx, {alpha_}, {.fit_intercept = params_.fit_intercept});
}

template <class T>
std::vector<double> RidgeCV<T>::predict(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, solution_.coef.size());
  return linear_values(ctx, X, solution_.coef, solution_.intercept).to_host();
}

template <class T>
schema::ValueMap RidgeCV<T>::attributes() const {
  schema::ValueMap map{{"alpha_", alpha_},
                       {"best_score_", best_score_},
                       {"coef_", solution_.coef},
                       {"intercept_", solution_.intercept.empty() ? schema::Value() : schema::Value(solution_.intercept[0])}};
  if (!cv_results_.empty()) map.emplace_back("cv_results_", rows_value(cv_results_, static_cast<std::int64_t>(alphas_.size())));
  return map;
}

template <class T>
void RidgeCV<T>::state(StateArchive& archive) {
  solution_.state(archive, 1);
  archive.field("alpha", alpha_);
  archive.field("best_score", best_score_);
  archive.field("alphas", alphas_, kAnySize);
  const auto n_alphas = static_cast<std::int64_t>(alphas_.size());
  archive.expect(n_alphas > 0, "alphas", "is empty");
  archive.field("cv_results", cv_results_, kAnySize, n_alphas);
}

template class RidgeCV<float>;
template class RidgeCV<double>;

}   // namespace kedge::engine
