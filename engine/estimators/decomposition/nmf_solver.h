// The iterations of NMF: W and H in turn, by coordinates or by factors, in one pass over the rows for both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/backend/ops/factor_steps.h"
#include "engine/core/context.h"
#include "engine/core/legacy_random.h"

namespace kedge::engine {

struct NmfOptions {
  bool by_coordinates = true;   // otherwise multiplicative updates
  bool is_kullback = false;     // the divergence of multiplicative updates, otherwise half the squared distance
  bool updates_h = true;
  bool shuffles = false;
  std::int64_t max_iter = 200;
  double tol = 1e-4;
  double l1_w = 0, l2_w = 0, l1_h = 0, l2_h = 0;
};

// Rows of a block, and how many groups of blocks are summed by themselves: both depend on the shape and the device,
// not on the number of threads.
std::int64_t nmf_block_rows(const Context& ctx, std::int64_t n, std::int64_t d);
inline constexpr std::int64_t kMostNmfGroups = 16;

// X (n x d) as the product of W (n x k), kept transposed, and H (k x d), all at least 0. A step by coordinates
// minimises one component of all rows of W at a time on the Gram matrix of H; that of H is the same with the Gram
// matrix of W. A block of rows is read once for both; a device with FactorOps takes all rows at once. Sources:
// Cichocki, Phan, "Fast local algorithms for large scale nonnegative matrix and tensor factorizations", IEICE
// Transactions 92(3), 2009; Fevotte, Idier, "Algorithms for nonnegative matrix factorization with the beta-divergence",
// Neural Computation 23(9), 2011.
template <class T>
class NmfSolver {
 public:
  NmfSolver(const Context& ctx, MatrixView<const T> X, const NmfOptions& options, std::int64_t k);

  // Improves W' (k x n) and H (k x d) where they are; returns the number of iterations. Errors: kCancelled.
  std::int64_t run(MatrixView<T> W, MatrixView<T> H, LegacyRandom& random);
  // sqrt(2 D(X, W H)) of the divergence D that is minimised.
  double error(MatrixView<const T> W, MatrixView<const T> H);

 private:
  // What one coordinate's step needs of the Gram matrix of the other factor.
  struct Step {
    Matrix<T> gram, moves, diagonal, inverse;   // k x k, k x k, k x 1, k x 1
    Matrix<T> outside;                          // `moves` without the groups along its diagonal
  };
  struct Buffers {                 // of a block
    Matrix<T> P, before, Q;        // k x rows
    Matrix<T> made, ratio, kept;   // rows x d
  };
  struct Sums {   // of a group: W'X, or W'(X / WH); W'W; the violations; the sums of W
    Matrix<T> products, gram, violation, totals;
  };
  using Visit = std::function<void(Buffers&, std::int64_t group, std::int64_t first, std::int64_t count)>;

  void for_blocks(const Visit& visit);
  void prepare(Step& step, double l2);
  void sweep(const Step& step, const std::vector<std::int64_t>& order, MatrixView<T> W, MatrixView<T> P);
  void add_violation(const Step& step, MatrixView<T> before, MatrixView<T> P, MatrixView<T> Q, T keep,
                     MatrixView<T> sum);
  double coordinate_iteration(MatrixView<T> W, MatrixView<T> H, LegacyRandom& random);
  void coordinate_block(Buffers& buffers, Sums& sums, MatrixView<const T> X, MatrixView<T> W,
                        const std::vector<std::int64_t>& order, bool is_first);
  void factor_iteration(MatrixView<T> W, MatrixView<T> H);
  void factor_block(Buffers& buffers, Sums& sums, MatrixView<const T> X, MatrixView<T> W, MatrixView<const T> H,
                    bool is_first);
  void ratio_of(MatrixView<const T> X, MatrixView<const T> W, MatrixView<const T> H, MatrixView<T> out);
  // F *= numerator / (denominator + l1 + l2 F); the denominator may be one column.
  void multiply(MatrixView<T> F, MatrixView<T> numerator, MatrixView<T> denominator, MatrixView<T> scratch, bool is_w);
  void divergence_block(Buffers& buffers, MatrixView<const T> X, MatrixView<const T> W, MatrixView<const T> H,
                        VectorView<double> sums);
  std::unique_ptr<FactorSteps<T>> whole_steps(MatrixView<T> W, MatrixView<T> H);
  double whole_step(FactorSteps<T>& whole, LegacyRandom& random);
  std::vector<std::int64_t> order(LegacyRandom& random) const;
  MatrixView<const T> constant(std::int64_t i) const { return {constants_.data() + i, 1, 1}; }
  Sums& total();   // of all groups, in the first

  const Context& ctx_;
  MatrixView<const T> X_;
  NmfOptions options_;
  std::int64_t k_, block_, n_blocks_, n_groups_;
  Step step_, step_h_;
  std::vector<Buffers> buffers_;
  std::vector<Sums> sums_;
  Buffers of_h_;
  Matrix<T> identity_, outside_, ones_, scaled_, shift_, constants_;
  Array<double> least_, vanishing_;   // for each column what counts as 0, of X and of H
};

}   // namespace kedge::engine
