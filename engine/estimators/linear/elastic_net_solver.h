// Paths of elastic nets on a linear problem: on the Gram matrix of all columns, or of working sets where columns are many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/backend/elastic_net.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/linear/sparse_problem.h"

namespace kedge::engine {

struct ElasticNetSolutions {
  std::vector<double> coef;           // alphas x columns
  std::vector<double> gap;            // of |y - Xw|^2 / (2 n) + ..., one an alpha
  std::vector<std::int64_t> n_iter;   // passes over the coordinates
};

// Whether all columns are put into one Gram matrix: rows are more, or columns few.
bool takes_gram(std::int64_t n_rows, std::int64_t n_cols);
// The same for given penalties: without an L1 part there are no working sets.
bool takes_gram(std::int64_t n_rows, std::int64_t n_cols, const std::vector<double>& alphas, double l1_ratio);

// For each alpha in order, from the solution before: min |y - X w|^2 / (2 n) + alpha (l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2),
// until the duality gap is at most tol * |y|^2 / n. Weights must sum to the number of rows. Many columns: coordinate descent on a
// working set of those nearest to the dual constraints, until the gap over all columns is small enough (Massias, Gramfort,
// Salmon, "Celer", 2018). Cost: a Gram matrix, then d an update; with working sets, a pass over X for each. Errors: kCancelled.
template <class T>
ElasticNetSolutions solve_elastic_nets(const Context& ctx, const LinearProblem<T>& problem, const std::vector<double>& alphas,
                                       double l1_ratio, const ElasticNetOptions& options);

// The same for sparse samples, always by working sets. The penalty has an L1 part.
template <class T>
ElasticNetSolutions solve_elastic_nets(const Context& ctx, const SparseProblem<T>& problem, const std::vector<double>& alphas,
                                       double l1_ratio, const ElasticNetOptions& options);

// A Gram matrix on the device whose last column and row belong to the target.
struct TargetGram {
  Matrix<double> all;
  double y_squared = 0;
};
template <class T>
TargetGram target_gram(const Context& ctx, const LinearProblem<T>& problem);
// The same on a Gram matrix of `n_rows` rows.
ElasticNetSolutions solve_elastic_nets(const Context& ctx, const TargetGram& gram, double n_rows, const std::vector<double>& alphas,
                                       double l1_ratio, const ElasticNetOptions& options);

// Penalties as the op takes them, the start, and its answers.
class PathBuffers {
 public:
  PathBuffers(const Context& ctx, std::int64_t n_cols, const std::vector<double>& alphas, double l1_ratio, double n_rows,
              const std::vector<double>& start);
  void set_penalty(const Context& ctx, double l1, double l2);   // one penalty, as the op takes it
  ElasticNetPath path(const TargetGram& gram);
  ElasticNetSolutions solutions(double n_rows) const;
  const Matrix<double>& coef() const { return coef_; }

 private:
  Array<double> l1_, l2_, gap_;
  Matrix<double> coef_;
  Array<std::int32_t> n_iter_;
};

}   // namespace kedge::engine
