// Ridge by Cholesky in the columns or in the rows, by singular values, or with positive coefficients.
#include "engine/estimators/linear/ridge_solver.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/host_view.h"
#include "engine/core/require.h"
#include "engine/core/stop.h"
#include "engine/estimators/linear/least_squares.h"
#include "engine/estimators/linear/sparse_problem.h"

namespace kedge::engine {
namespace {

constexpr double kLeastSingular = 1e-15;    // scikit-learn's; absolute
constexpr std::int64_t kSideBySide = 512;   // rows of a matrix of which each thread may have one of its own: 2 MB

// Calls solve(alpha, first target, targets) once for each run of equal alphas.
template <class Solve>
bool for_equal_alphas(const std::vector<double>& alphas, std::int64_t targets, const Solve& solve) {
  if (std::ranges::all_of(alphas, [&](double a) { return a == alphas[0]; })) return solve(alphas[0], 0, targets);
  for (std::int64_t t = 0; t < targets; ++t)
    if (!solve(alphas[static_cast<std::size_t>(t)], t, 1)) return false;
  return true;
}

// (S + alpha I) x = b for the columns b of `right` (n x targets); S is the leading square of its rows. False if S + alpha I is
// not positive definite.
bool solve_shifted(const Context& ctx, HostMatrix<const double> S, const std::vector<double>& alphas,
                   HostMatrix<const double> right, std::vector<double>& x) {
  const std::int64_t n = right.rows(), targets = right.cols();
  x.assign(static_cast<std::size_t>(n * targets), 0.0);
  return for_equal_alphas(alphas, targets, [&](double alpha, std::int64_t first, std::int64_t count) {
    std::vector<double> shifted, some;
    shifted.reserve(static_cast<std::size_t>(n * n)), some.reserve(static_cast<std::size_t>(n * count));
    for (std::int64_t i = 0; i < n; ++i) {
      shifted.insert(shifted.end(), S.row(i).begin(), S.row(i).begin() + n);
      shifted[static_cast<std::size_t>(i * n + i)] += alpha;
      some.insert(some.end(), right.row(i).begin() + first, right.row(i).begin() + first + count);
    }
    Matrix<double> A(ctx.memory(), n, n, shifted), B(ctx.memory(), n, count, some);
    if (!ctx.ops<double>().factorise->solve_positive(A.view(), B.view())) return false;
    const std::vector<double> part = B.to_host();
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(part.begin() + i * count, count, x.begin() + i * targets + first);
    return std::ranges::all_of(part, [](double v) { return std::isfinite(v); });
  });
}

std::vector<double> transposed(const std::vector<double>& A, std::int64_t rows, std::int64_t cols) {
  std::vector<double> B(A.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) B[static_cast<std::size_t>(j * rows + i)] = A[static_cast<std::size_t>(i * cols + j)];
  return B;
}

// coef[t] += s (u'y_t) / (s^2 + alpha_t) v, over the singular triples.
void add_triples(const Decomposition& svd, std::int64_t m, std::int64_t d, const std::vector<double>& Y, std::int64_t k,
                 const std::vector<double>& alphas, std::vector<double>& coef) {
  const auto r = static_cast<std::int64_t>(svd.s.size());
  coef.assign(static_cast<std::size_t>(k * d), 0.0);
  for (std::int64_t c = 0; c < r; ++c) {
    check_job_stop();
    const double s = svd.s[static_cast<std::size_t>(c)];
    if (!(s > kLeastSingular)) continue;
    for (std::int64_t t = 0; t < k; ++t) {
      double along = 0;
      for (std::int64_t i = 0; i < m; ++i)
        along += svd.U[static_cast<std::size_t>(i * r + c)] * Y[static_cast<std::size_t>(i * k + t)];
      along *= s / (s * s + alphas[alphas.size() == 1 ? 0 : static_cast<std::size_t>(t)]);
      for (std::int64_t j = 0; j < d; ++j)
        coef[static_cast<std::size_t>(t * d + j)] += along * svd.Vt[static_cast<std::size_t>(c * d + j)];
    }
  }
}

}   // namespace

std::vector<double> check_ridge_options(std::string_view owner, const RidgeOptions& options) {
  std::vector<double> alphas;
  if (const auto* one = std::get_if<double>(&options.alpha.data)) alphas = {*one};
  else alphas = numbers_of(options.alpha).value_or(std::vector<double>{});
  if (alphas.empty()) refuse_param(owner, "alpha", options.alpha, "must have at least one number");
  for (const double alpha : alphas)
    if (!(alpha >= 0)) refuse_param(owner, "alpha", options.alpha, "must not have negative numbers");
  if (options.positive && options.solver != "auto" && options.solver != "lbfgs")
    refuse_param(owner, "solver", options.solver, "does not go with positive = true: only auto and lbfgs do");
  if (!options.positive && options.solver == "lbfgs") refuse_param(owner, "solver", options.solver, "needs positive = true");
  return alphas;
}

void RidgeSolution::state(StateArchive& archive, std::int64_t n_targets) {
  archive.field("coef", coef, n_targets, archive.n_features());
  archive.field("intercept", intercept, n_targets);
  archive.field("solver", solver);
}

template <class T>
const std::vector<double>& RidgeProblem<T>::gram(const Context& ctx) {
  if (gram_.empty()) gram_ = linear_.gram(ctx).to_host();
  return gram_;
}

template <class T>
const std::vector<double>& RidgeProblem<T>::triangle(const Context& ctx) {
  if (triangle_.empty()) triangle_ = linear_.triangle(ctx).to_host();
  return triangle_;
}

template <class T>
bool RidgeProblem<T>::by_cholesky(const Context& ctx, const std::vector<double>& alphas, const RidgeOptions& options,
                                  std::vector<double>& coef) {
  if (options.positive || options.solver == "svd") return false;
  return is_wide() ? by_rows(ctx, alphas, coef) : by_columns(ctx, alphas, coef);
}

template <class T>
bool RidgeProblem<T>::by_columns(const Context& ctx, const std::vector<double>& alphas, std::vector<double>& coef) {
  const std::int64_t d = linear_.n_cols(), k = linear_.n_targets(), p = d + k;
  const double* const all = gram(ctx).data();
  std::vector<double> x;
  if (!solve_shifted(ctx, {all, d, d, p}, alphas, {all + d, d, k, p}, x)) return false;
  coef = transposed(x, d, k);
  return true;
}

template <class T>
bool RidgeProblem<T>::by_rows(const Context& ctx, const std::vector<double>& alphas, std::vector<double>& coef) {
  const std::int64_t n = linear_.n_rows(), d = linear_.n_cols(), k = linear_.n_targets();
  if (!rows_) {
    rows_ = Rows{linear_.rows(ctx), {}};
    Matrix<double> K(ctx.memory(), n, n);
    const MatrixView<const double> X = std::as_const(rows_->X).view();
    ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, X, X, 0.0, K.view());
    rows_->products = K.to_host();
  }
  std::vector<double> dual;
  const std::vector<double> y = linear_.targets(ctx);
  if (!solve_shifted(ctx, {rows_->products.data(), n, n, n}, alphas, {y.data(), n, k, k}, dual)) return false;
  const Matrix<double> D(ctx.memory(), n, k, dual);
  Matrix<double> W(ctx.memory(), k, d);
  ctx.ops<double>().linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, D.view(), std::as_const(rows_->X).view(), 0.0,
                                 W.view());
  coef = W.to_host();
  return true;
}

template <class T>
typename RidgeProblem<T>::Triples RidgeProblem<T>::triples(const Context& ctx) {
  const std::int64_t n = linear_.n_rows(), d = linear_.n_cols(), p = d + linear_.n_targets();
  if (n < d) return {decompose(ctx, linear_.rows(ctx).to_host(), n, d), n, linear_.targets(ctx)};
  const std::vector<double>& R = triangle(ctx);   // Q'X and Q'y: the same singular values, d rows
  std::vector<double> z;
  for (std::int64_t i = 0; i < d; ++i) z.insert(z.end(), R.begin() + i * p + d, R.begin() + (i + 1) * p);
  return {decompose(ctx, leading_square(R, p, d), d, d), d, std::move(z)};
}

template <class T>
std::vector<double> RidgeProblem<T>::by_singular_values(const Context& ctx, const std::vector<double>& alphas) {
  if (!triples_) triples_ = triples(ctx);
  std::vector<double> coef;
  add_triples(triples_->svd, triples_->m, linear_.n_cols(), triples_->Y, linear_.n_targets(), alphas, coef);
  return coef;
}

// The triangle of [X; sqrt(alpha) I] poses the same problem without a penalty.
template <class T>
std::vector<double> RidgeProblem<T>::positive_only(const Context& ctx, const std::vector<double>& alphas) {
  const std::int64_t d = linear_.n_cols(), k = linear_.n_targets(), p = d + k;
  const std::vector<double>& all = triangle(ctx);
  std::vector<double> coef;
  for (std::int64_t t = 0; t < k; ++t) {
    const double root = std::sqrt(alphas[alphas.size() == 1 ? 0 : static_cast<std::size_t>(t)]);
    std::vector<double> stacked(static_cast<std::size_t>(2 * d * (d + 1)), 0.0);
    for (std::int64_t i = 0; i < d; ++i) {
      std::copy_n(all.begin() + i * p, d, stacked.begin() + i * (d + 1));
      stacked[static_cast<std::size_t>(i * (d + 1) + d)] = all[static_cast<std::size_t>(i * p + d + t)];
      stacked[static_cast<std::size_t>((d + i) * (d + 1) + i)] = root;
    }
    const Matrix<double> A(ctx.memory(), 2 * d, d + 1, stacked);
    Matrix<double> R(ctx.memory(), d + 1, d + 1);
    ctx.ops<double>().design->triangle({.X = A.view()}, R.view());
    const std::vector<double> both = R.to_host();
    std::vector<double> z;
    for (std::int64_t i = 0; i < d; ++i) z.push_back(both[static_cast<std::size_t>(i * (d + 1) + d)]);
    const std::vector<double> w = nonnegative_least_squares(ctx, leading_square(both, d + 1, d), z);
    coef.insert(coef.end(), w.begin(), w.end());
  }
  return coef;
}

template <class T>
RidgeSolution RidgeProblem<T>::solve(const Context& ctx, const std::vector<double>& alphas, const RidgeOptions& options) {
  require(alphas.size() == 1 || static_cast<std::int64_t>(alphas.size()) == linear_.n_targets(), schema::ErrorCode::kBadData,
          "{}: alpha has {} numbers, must have 1 or one for each of the {} targets", owner_, alphas.size(), linear_.n_targets());
  ctx.check_stop();
  RidgeSolution solution{.solver = "cholesky"};
  if (options.positive) solution.coef = positive_only(ctx, alphas), solution.solver = "lbfgs";
  else if (!by_cholesky(ctx, alphas, options, solution.coef))
    solution.coef = by_singular_values(ctx, alphas), solution.solver = "svd";
  solution.intercept = linear_.intercepts(solution.coef);
  return solution;
}

// The first makes what all need; the others then only read it. What has no Cholesky decomposition is solved afterwards,
// one after the other.
template <class T>
std::vector<RidgeSolution> RidgeProblem<T>::solve_each(const Context& ctx, const std::vector<double>& alphas,
                                                       const RidgeOptions& options) {
  std::vector<RidgeSolution> found(alphas.size());
  found[0] = solve(ctx, {alphas[0]}, options);
  const std::int64_t side = is_wide() ? linear_.n_rows() : linear_.n_cols();
  if (ctx.device.traits().concurrent_fits > 1 && found[0].solver == "cholesky" && side <= kSideBySide)
    side_by_side(static_cast<std::int64_t>(alphas.size()) - 1, [&](std::int64_t i) {
      RidgeSolution& own = found[static_cast<std::size_t>(i + 1)];
      ctx.check_stop();
      if (!by_cholesky(ctx, {alphas[static_cast<std::size_t>(i + 1)]}, options, own.coef)) return;
      own.solver = "cholesky", own.intercept = linear_.intercepts(own.coef);
    });
  for (std::size_t i = 1; i < alphas.size(); ++i)
    if (found[i].intercept.empty()) found[i] = solve(ctx, {alphas[i]}, options);
  return found;
}

bool solves_sparse(bool is_large_sparse, const RidgeOptions& options) {
  return is_large_sparse && !options.positive && options.solver != "svd" && options.solver != "cholesky";
}

template <class T>
RidgeSolution solve_sparse_ridge(const Context& ctx, const char* owner, const Samples<T>& X, const RidgeTargets& targets,
                                 const std::vector<double>& alphas, bool fit_intercept) {
  std::vector<double> Y(static_cast<std::size_t>(targets.Y.size())),
      weights(static_cast<std::size_t>(targets.weights.size));
  ctx.memory().to_host(Y.data(), targets.Y.data, Y.size() * sizeof(double));
  if (!weights.empty()) ctx.memory().to_host(weights.data(), targets.weights.data, weights.size() * sizeof(double));
  const SparseProblem<T> problem(ctx, owner, X, Y, targets.Y.cols, weights, fit_intercept);
  RidgeSolution solution{.coef = solve_sparse_least_squares(ctx, owner, problem, alphas), .intercept = {}, .solver = "sparse_cg"};
  solution.intercept = problem.intercepts(solution.coef);
  return solution;
}

template RidgeSolution solve_sparse_ridge(const Context&, const char*, const Samples<float>&, const RidgeTargets&,
                                          const std::vector<double>&, bool);
template RidgeSolution solve_sparse_ridge(const Context&, const char*, const Samples<double>&, const RidgeTargets&,
                                          const std::vector<double>&, bool);
template class RidgeProblem<float>;
template class RidgeProblem<double>;

}   // namespace kedge::engine
