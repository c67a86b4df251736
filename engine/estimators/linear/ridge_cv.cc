// RidgeCV: leave-one-out errors from eigenvectors, scores, and the choice.
#include "engine/estimators/linear/ridge_cv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/elastic_net_folds.h"
#include "engine/estimators/linear/least_squares.h"

namespace kedge::engine {
namespace {

using P = RidgeCVParams;
constexpr const char* kName = "RidgeCV";
constexpr std::int64_t kBlockRows = 4096;

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

// For each row i and alpha a: sum_k U[i, k]^2 D[k, a] and sum_k U[i, k] B[k, a].
struct RowSums {
  Matrix<double> squares, products;
};
RowSums row_sums(const Context& ctx, MatrixView<const double> U, const Matrix<double>& D, const Matrix<double>& B) {
  Matrix<double> S(ctx.memory(), U.rows, D.cols()), P(ctx.memory(), U.rows, B.cols()),
      squared(ctx.memory(), U.rows, U.cols);
  ctx.ops<double>().maps->map(Unary::kSquare, 1, U, squared.view());
  ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, std::as_const(squared).view(), D.view(), 0.0,
                                 S.view());
  ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, U, B.view(), 0.0, P.view());
  return {std::move(S), std::move(P)};
}

// The part of each row's leverage that the intercept has: one number for all rows, or one each where they have weights.
Matrix<double> intercept_shares(const Context& ctx, bool fit_intercept, std::int64_t n,
                                std::span<const double> weights) {
  const auto one = [&](double value) { return Matrix<double>(ctx.memory(), 1, 1, std::vector<double>{value}); };
  if (!fit_intercept || weights.empty()) return one(fit_intercept ? 1.0 / static_cast<double>(n) : 0.0);
  const Matrix<double> total = one(std::accumulate(weights.begin(), weights.end(), 0.0));
  Matrix<double> shares(ctx.memory(), n, 1, weights);
  ctx.ops<double>().maps->combine(Binary::kDivide, std::as_const(shares).view(), total.view(), shares.view());
  return shares;
}

// Errors of each row (times the root of its weight) under the model of the others: rows x alphas.
template <class T>
class LeftOut {
 public:
  LeftOut(const Context& ctx, RidgeProblem<T>& ridge, const std::vector<double>& alphas, Matrix<double> intercept_share)
      : ctx_(ctx),
        ridge_(ridge),
        problem_(ridge.linear()),
        alphas_(alphas),
        share_(std::move(intercept_share)),
        targets_(problem_.weighted_targets(ctx, 1)),
        errors_(ctx.memory(), problem_.n_rows(), static_cast<std::int64_t>(alphas.size())) {}
  Matrix<double> errors() {
    problem_.n_cols() > problem_.n_rows() ? by_rows() : by_columns();
    return std::move(errors_);
  }

 private:
  // The matrices of factors: weigh(lambda, alpha), and that times `along`.
  template <class Weigh>
  void make_factors(const std::vector<double>& eigenvalues, const std::vector<double>& along, const Weigh& weigh) {
    std::vector<double> d, b;
    for (std::size_t k = 0; k < eigenvalues.size(); ++k) {
      for (const double alpha : alphas_) {
        d.push_back(weigh(std::max(0.0, eigenvalues[k]), alpha));
        b.push_back(d.back() * along[k]);
      }
    }
    const auto r = static_cast<std::int64_t>(eigenvalues.size()), count = static_cast<std::int64_t>(alphas_.size());
    D_ = Matrix<double>(ctx_.memory(), r, count, d), B_ = Matrix<double>(ctx_.memory(), r, count, b);
  }

  // X'X = V' L V (rows of V): a row's leverage is sum_k (x'v_k)^2 / (L_k + alpha).
  void by_columns() {
    const std::int64_t n = problem_.n_rows(), d = problem_.n_cols();
    const std::vector<double>& all = ridge_.gram(ctx_);
    Matrix<double> V(ctx_.memory(), d, d, leading_square(all, d + 1, d)), along(ctx_.memory(), 1, d);
    Array<double> eigenvalues(ctx_.memory(), d);
    ctx_.ops<double>().factorise->eigh(V.view(), eigenvalues.view());
    const Matrix<double> q(ctx_.memory(), 1, d,
                           std::span(all).subspan(static_cast<std::size_t>(d * (d + 1)), static_cast<std::size_t>(d)));
    ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, q.view(), std::as_const(V).view(), 0.0,
                                    along.view());
    make_factors(eigenvalues.to_host(), along.to_host(), [](double lambda, double alpha) { return 1 / (lambda + alpha); });
    Design<T> design = problem_.design();
    design.Y = {};
    Matrix<double> less_one(ctx_.memory(), share_.rows(), 1);   // share - 1
    ctx_.ops<double>().maps->combine(Binary::kSubtract, std::as_const(share_).view(),
                                     Matrix<double>(ctx_.memory(), 1, 1, std::vector<double>{1.0}).view(),
                                     less_one.view());
    const std::int64_t step = block_rows(ctx_, kBlockRows, d);
    Matrix<double> block(ctx_.memory(), std::min(n, step), d), turned(ctx_.memory(), std::min(n, step), d);
    for (std::int64_t first = 0; first < n; first += step) {
      ctx_.check_stop();
      const MatrixView<double> rows = block.view().row_range(0, std::min(step, n - first)),
                               U = turned.view().row_range(0, rows.rows);
      ctx_.ops<T>().design->gather(design, first, rows);
      ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows, std::as_const(V).view(), 0.0, U);
      RowSums sums = row_sums(ctx_, U, D_, B_);   // (y - product) / (1 - share - square), both with the other sign
      combine(Binary::kSubtract, sums.products, targets_.view().row_range(first, rows.rows));
      combine(Binary::kAdd, sums.squares, share_of(less_one, first, rows.rows));
      ctx_.ops<double>().maps->combine(Binary::kDivide, std::as_const(sums.products).view(),
                                       std::as_const(sums.squares).view(), errors_.view().row_range(first, rows.rows));
    }
  }

  // X X' = V' L V: 1 - leverage is sum_k V_ki^2 alpha / (L_k + alpha), less the intercept's direction, in which X X' is 0.
  void by_rows() {
    const std::int64_t n = problem_.n_rows();
    const Matrix<double> rows = problem_.rows(ctx_);
    Matrix<double> V(ctx_.memory(), n, n), along(ctx_.memory(), n, 1);
    ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows.view(), rows.view(), 0.0, V.view());
    Array<double> eigenvalues(ctx_.memory(), n);
    ctx_.ops<double>().factorise->eigh(V.view(), eigenvalues.view());
    ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, std::as_const(V).view(),
                                    std::as_const(targets_).view(), 0.0, along.view());
    std::vector<double> lambda = eigenvalues.to_host();
    const double rounding = static_cast<double>(n) * std::numeric_limits<double>::epsilon() * std::abs(lambda.back());
    for (double& v : lambda) v = v <= rounding ? 0.0 : v;   // or the intercept's direction would not cancel
    make_factors(lambda, along.to_host(), [](double value, double alpha) { return alpha / (value + alpha); });
    const std::vector<double> v = V.to_host();
    std::vector<double> turned(v.size());
    const auto size = static_cast<std::size_t>(n);
    for (std::size_t k = 0; k < size; ++k)
      for (std::size_t i = 0; i < size; ++i) turned[i * size + k] = v[k * size + i];
    const Matrix<double> U(ctx_.memory(), n, n, turned);
    RowSums sums = row_sums(ctx_, U.view(), D_, B_);   // product / (square - share)
    combine(Binary::kSubtract, sums.squares, share_of(share_, 0, n));
    ctx_.ops<double>().maps->combine(Binary::kDivide, std::as_const(sums.products).view(),
                                     std::as_const(sums.squares).view(), errors_.view());
  }

  static MatrixView<const double> share_of(const Matrix<double>& shares, std::int64_t first, std::int64_t count) {
    return shares.rows() == 1 ? shares.view() : shares.view().row_range(first, count);
  }
  void combine(Binary f, Matrix<double>& X, MatrixView<const double> Y) {
    ctx_.ops<double>().maps->combine(f, std::as_const(X).view(), Y, X.view());
  }

  const Context& ctx_;
  RidgeProblem<T>& ridge_;
  const LinearProblem<T>& problem_;
  const std::vector<double>& alphas_;
  Matrix<double> share_, targets_, errors_, D_, B_;
};

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

namespace {

// Minus the mean square of the errors of each alpha, a column each.
std::vector<double> squared_scores(const Context& ctx, Matrix<double> errors) {
  Array<double> sums(ctx.memory(), errors.cols());
  ctx.ops<double>().maps->map(Unary::kSquare, 1, std::as_const(errors).view(), errors.view());
  ctx.ops<double>().rows->weighted_sums(std::as_const(errors).view(), {}, sums.view());
  std::vector<double> scores = sums.to_host();
  for (double& score : scores) score = -score / static_cast<double>(errors.rows());
  return scores;
}

}   // namespace

template <class T>
std::vector<double> RidgeCV<T>::left_out_scores(const Context& ctx, RidgeProblem<T>& problem, const Target& y) {
  const std::size_t n = y.values.size(), count = alphas_.size();
  const auto weight = [&](std::size_t i) { return y.weights.empty() ? 1.0 : y.weights[i]; };
  Matrix<double> left_out =
      LeftOut<T>(ctx, problem, alphas_,
                 intercept_shares(ctx, params_.fit_intercept, problem.linear().n_rows(), y.weights))
          .errors();
  if (!params_.scoring && !params_.store_cv_results) return squared_scores(ctx, std::move(left_out));
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
    const RidgeSolution solution = problem.solve(ctx, alphas_, {.fit_intercept = params_.fit_intercept});
    const std::vector<double> values = linear_values(ctx, only_rows(ctx, X, fold), solution.coef, solution.intercept).to_host();
    for (std::size_t a = 0; a < alphas_.size(); ++a) {
      std::vector<double> own;
      for (std::size_t i = 0; i < test.size(); ++i) own.push_back(values[i * alphas_.size() + a]);
      scores[a] += score_of(params_.scoring.value_or("r2"), test, own, {}) / static_cast<double>(folds.size());
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
