// Leave-one-out errors from eigenvectors.
#include "engine/estimators/linear/ridge_left_out.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/estimators/linear/least_squares.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kBlockRows = 4096;

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

// Errors of each row (times the root of its weight) under the model of the others: rows x (targets x alphas).
template <class T>
class LeftOut {
 public:
  LeftOut(const Context& ctx, RidgeProblem<T>& ridge, const std::vector<double>& alphas, Matrix<double> intercept_share)
      : ctx_(ctx),
        ridge_(ridge),
        problem_(ridge.linear()),
        alphas_(alphas),
        share_(std::move(intercept_share)),
        n_targets_(problem_.n_targets()),
        targets_(problem_.weighted_targets(ctx, n_targets_)),
        errors_(ctx.memory(), problem_.n_rows(), static_cast<std::int64_t>(alphas.size()) * n_targets_) {}
  Matrix<double> errors() {
    problem_.n_cols() > problem_.n_rows() ? by_rows() : by_columns();
    return std::move(errors_);
  }

 private:
  // The matrices of factors: weigh(lambda, alpha), and that times `along` (eigenvalues x targets) of each target.
  template <class Weigh>
  void make_factors(const std::vector<double>& eigenvalues, const std::vector<double>& along, const Weigh& weigh) {
    const auto targets = static_cast<std::size_t>(n_targets_);
    std::vector<double> d, b;
    for (std::size_t k = 0; k < eigenvalues.size(); ++k) {
      for (const double alpha : alphas_) d.push_back(weigh(std::max(0.0, eigenvalues[k]), alpha));
      for (std::size_t t = 0; t < targets; ++t)
        for (std::size_t a = 0; a < alphas_.size(); ++a)
          b.push_back(d[k * alphas_.size() + a] * along[k * targets + t]);
    }
    const auto r = static_cast<std::int64_t>(eigenvalues.size()), count = n_alphas();
    D_ = Matrix<double>(ctx_.memory(), r, count, d), B_ = Matrix<double>(ctx_.memory(), r, count * n_targets_, b);
  }

  // X'X = V' L V (rows of V): a row's leverage is sum_k (x'v_k)^2 / (L_k + alpha).
  void by_columns() {
    const std::int64_t n = problem_.n_rows(), d = problem_.n_cols();
    const std::vector<double>& all = ridge_.gram(ctx_);
    const std::int64_t p = d + n_targets_;
    Matrix<double> V(ctx_.memory(), d, d, leading_square(all, p, d)), along(ctx_.memory(), d, n_targets_);
    Array<double> eigenvalues(ctx_.memory(), d);
    ctx_.ops<double>().factorise->eigh(V.view(), eigenvalues.view());
    const std::span<const double> with_targets = std::span(all).subspan(static_cast<std::size_t>(d * p));
    const Matrix<double> q(ctx_.memory(), n_targets_, p, with_targets);
    ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, std::as_const(V).view(),
                                    MatrixView<const double>(q.data(), n_targets_, d, p), 0.0, along.view());
    make_factors(eigenvalues.to_host(), along.to_host(),
                 [](double lambda, double alpha) { return 1 / (lambda + alpha); });
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
      combine(Binary::kAdd, sums.squares, share_of(less_one, first, rows.rows));
      for (std::int64_t t = 0; t < n_targets_; ++t) {
        const MatrixView<double> own = columns_of(sums.products, t, 0, rows.rows);
        const MatrixView<const double> target{targets_.data() + first * n_targets_ + t, rows.rows, 1, n_targets_};
        ctx_.ops<double>().maps->combine(Binary::kSubtract, own, target, own);
        ctx_.ops<double>().maps->combine(Binary::kDivide, own, std::as_const(sums.squares).view(),
                                         columns_of(errors_, t, first, rows.rows));
      }
    }
  }

  // X X' = V' L V: 1 - leverage is sum_k V_ki^2 alpha / (L_k + alpha), less the intercept's direction, in which X X' is
  // 0.
  void by_rows() {
    const std::int64_t n = problem_.n_rows();
    const Matrix<double> rows = problem_.rows(ctx_);
    Matrix<double> V(ctx_.memory(), n, n), along(ctx_.memory(), n, n_targets_);
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
    for (std::int64_t t = 0; t < n_targets_; ++t)
      ctx_.ops<double>().maps->combine(Binary::kDivide, columns_of(sums.products, t, 0, n),
                                       std::as_const(sums.squares).view(), columns_of(errors_, t, 0, n));
  }

  std::int64_t n_alphas() const { return static_cast<std::int64_t>(alphas_.size()); }
  // The columns of one target, one an alpha.
  MatrixView<double> columns_of(Matrix<double>& all, std::int64_t target, std::int64_t first,
                                std::int64_t count) const {
    return {all.data() + first * all.cols() + target * n_alphas(), count, n_alphas(), all.cols()};
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
  Matrix<double> share_;
  std::int64_t n_targets_;
  Matrix<double> targets_, errors_, D_, B_;
};

}   // namespace

template <class T>
Matrix<double> left_out_errors(const Context& ctx, RidgeProblem<T>& problem, const std::vector<double>& alphas,
                               bool fit_intercept, const std::vector<double>& weights) {
  return LeftOut<T>(ctx, problem, alphas, intercept_shares(ctx, fit_intercept, problem.linear().n_rows(), weights))
      .errors();
}

std::vector<double> left_out_scores_of_squares(const Context& ctx, Matrix<double> errors, std::int64_t n_targets) {
  Array<double> sums(ctx.memory(), errors.cols());
  ctx.ops<double>().maps->map(Unary::kSquare, 1, std::as_const(errors).view(), errors.view());
  ctx.ops<double>().rows->weighted_sums(std::as_const(errors).view(), {}, sums.view());
  std::vector<double> scores = sums.to_host();
  const std::size_t n_alphas = scores.size() / static_cast<std::size_t>(n_targets);
  for (std::size_t e = n_alphas; e < scores.size(); ++e) scores[e % n_alphas] += scores[e];
  scores.resize(n_alphas);
  for (double& score : scores) score = -score / static_cast<double>(errors.rows() * n_targets);
  return scores;
}

template Matrix<double> left_out_errors(const Context&, RidgeProblem<float>&, const std::vector<double>&, bool,
                                        const std::vector<double>&);
template Matrix<double> left_out_errors(const Context&, RidgeProblem<double>&, const std::vector<double>&, bool,
                                        const std::vector<double>&);

}   // namespace kedge::engine
