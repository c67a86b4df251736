// The ridge solution of one or several targets: what Ridge and RidgeClassifier share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/linear/least_squares.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {

// What both estimators take.
struct RidgeOptions {
  schema::Value alpha = 1.0;
  bool fit_intercept = true;
  std::string solver = "auto";
  bool positive = false;
};

struct RidgeSolution {
  std::vector<double> coef, intercept;   // targets x columns; targets
  void state(StateArchive& archive, std::int64_t n_targets);
  std::string solver;   // that found it: "cholesky", "svd", or "lbfgs" for positive coefficients
};

// The penalties of `options` as a list. Errors: as check_param, for a list that is empty or has negative numbers; for solver and
// positive that scikit-learn does not combine.
std::vector<double> check_ridge_options(std::string_view owner, const RidgeOptions& options);

// The ridge problem of some samples. What several penalties have in common, Gram matrices and decompositions, is made on first
// use and kept: a further penalty costs one Cholesky decomposition, and its solution is the same to the bit as that of a problem
// of its own.
template <class T>
class RidgeProblem {
 public:
  // As LinearProblem.
  RidgeProblem(const Context& ctx, const char* owner, const Samples<T>& X, MatrixView<const double> Y,
               VectorView<const double> weights, bool fit_intercept)
      : owner_(owner), linear_(ctx, owner, X, Y, weights, fit_intercept) {}
  RidgeProblem(const Context& ctx, const char* owner, const Samples<T>& X, std::span<const double> Y, std::int64_t n_targets,
               const std::vector<double>& weights, bool fit_intercept)
      : owner_(owner), linear_(ctx, owner, X, Y, n_targets, weights, fit_intercept) {}

  // min |sqrt(w) (y - X coef - intercept)|^2 + alpha |coef|^2 for each target; `alphas` has one value, or one a target.
  // By Cholesky's decomposition of the Gram matrix of the columns, or of the rows where they are fewer; by singular
  // values where that fails or is requested. Positive coefficients: exactly, by an active set. Cost: n d min(n, d).
  // Errors: kBadData for a wrong number of alphas.
  RidgeSolution solve(const Context& ctx, const std::vector<double>& alphas, const RidgeOptions& options);
  // solve() for each penalty on its own, to the same bits; small problems side by side on the CPU's threads.
  std::vector<RidgeSolution> solve_each(const Context& ctx, const std::vector<double>& alphas, const RidgeOptions& options);

  const LinearProblem<T>& linear() const { return linear_; }
  // LinearProblem::gram() on the host.
  const std::vector<double>& gram(const Context& ctx);

 private:
  struct Rows {   // of the design, and their products with each other
    Matrix<double> X;
    std::vector<double> products;
  };
  struct Triples {   // singular values, and targets turned with the rows
    Decomposition svd;
    std::int64_t m = 0;
    std::vector<double> Y;
  };
  bool is_wide() const { return linear_.n_cols() > linear_.n_rows(); }
  // False where the Gram matrix is not positive definite, or if the solver is not Cholesky's decomposition.
  bool by_cholesky(const Context& ctx, const std::vector<double>& alphas, const RidgeOptions& options, std::vector<double>& coef);
  bool by_columns(const Context& ctx, const std::vector<double>& alphas, std::vector<double>& coef);
  bool by_rows(const Context& ctx, const std::vector<double>& alphas, std::vector<double>& coef);
  std::vector<double> by_singular_values(const Context& ctx, const std::vector<double>& alphas);
  std::vector<double> positive_only(const Context& ctx, const std::vector<double>& alphas);
  const std::vector<double>& triangle(const Context& ctx);
  Triples triples(const Context& ctx);

  const char* owner_;
  LinearProblem<T> linear_;
  std::vector<double> gram_, triangle_;   // p x p, host
  std::optional<Rows> rows_;
  std::optional<Triples> triples_;
};

// What is to be fitted, in addition to the samples.
struct RidgeTargets {
  MatrixView<const double> Y;         // device, n x targets, no padding
  VectorView<const double> weights;   // device, of rows; empty: 1 each
  Matrix<double> own_Y = {};          // what is not the Target's is held here
  std::optional<RowWeights> own_weights = {};
};

// Whether large sparse samples stay sparse.
bool solves_sparse(bool is_large_sparse, const RidgeOptions& options);
// The same by conjugate gradients on sparse samples: "sparse_cg".
template <class T>
RidgeSolution solve_sparse_ridge(const Context& ctx, const char* owner, const Samples<T>& X, const RidgeTargets& targets,
                                 const std::vector<double>& alphas, bool fit_intercept);

}   // namespace kedge::engine
