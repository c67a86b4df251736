// Block Lanczos with full orthogonalisation: the largest eigenvalues of a symmetric matrix that is known by its
// products.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/core/context.h"
#include "engine/estimators/kernels/leading_eigenpairs.h"

namespace kedge::engine {

// Holds a basis of at most 14 blocks of count + 8 vectors. Borrows the context. The same draws on every device.
class BlockLanczos {
 public:
  BlockLanczos(const Context& ctx, std::int64_t n, std::int64_t count, SymmetricProduct product,
               double residual = kRoundingResidual);

  static constexpr std::int64_t kMore = 8;          // vectors of a block beyond those wanted
  static constexpr std::int64_t kMostBlocks = 14;   // of a run: that many products, each followed by a filter

  // Whether its basis is small beside n rows.
  static bool pays(std::int64_t n, std::int64_t count);
  Matrix<double> random_block() const;
  // The pairs, once their residuals are small; nothing where the basis is full before. `filter`, where given, makes
  // the next block of the last one in place of the matrix. Errors: kCancelled.
  std::optional<Eigenpairs> run(Matrix<double> block, const SymmetricProduct& filter = {});

  // The best count + 8 vectors of the last run, and the least of their values: where another one starts.
  struct Restart {
    Matrix<double> block;
    double least;
  };
  Restart restart() const;
  // The largest residual at the end of the last run, in parts of the largest eigenvalue.
  double left() const { return left_; }

 private:
  MatrixView<double> columns(Matrix<double>& all, std::int64_t first) const;
  MatrixView<const double> leading(const Matrix<double>& all, std::int64_t size) const;
  void remove_basis(Matrix<double>& block, std::int64_t size) const;
  Matrix<double> projected(std::int64_t size) const;
  std::optional<Eigenpairs> converged(std::int64_t size);

  const Context& ctx_;
  SymmetricProduct product_;
  std::int64_t n_, count_, width_, most_;
  double residual_, left_ = 0;        // of the largest eigenvalue
  Matrix<double> basis_, products_;   // n x most_, orthonormal columns, and A times these
};

}   // namespace kedge::engine
