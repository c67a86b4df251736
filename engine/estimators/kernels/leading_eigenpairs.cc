// Block Lanczos with full orthogonalisation, and what stands in for it.
#include "engine/estimators/kernels/leading_eigenpairs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace kedge::engine {
namespace {

constexpr std::int64_t kMore = 8;   // vectors of a block beyond those wanted
constexpr std::int64_t kMostBlocks = 14;
constexpr std::int64_t kWorth = 2;          // of the rows: a basis larger than one part of so many is no gain
constexpr std::uint64_t kSeed = 20261126;   // of the first block: the answer is the matrix's own
constexpr double kResidual = 1e-12;         // of the largest eigenvalue

class BlockLanczos {
 public:
  BlockLanczos(const Context& ctx, const Matrix<double>& A, std::int64_t count)
      : ctx_(ctx),
        A_(A),
        n_(A.rows()),
        count_(count),
        width_(count + kMore),
        most_(width_ * kMostBlocks),
        basis_(ctx.memory(), n_, most_),
        products_(ctx.memory(), n_, most_) {}

  std::optional<Eigenpairs> run() {
    Matrix<double> block(ctx_.memory(), n_, width_);
    ctx_.ops<double>().rows->fill_normal(kSeed, 0, block.view());
    for (std::int64_t size = 0; size < most_;) {
      ctx_.check_stop();
      for (int turn = 0; turn < 2; ++turn) {   // once more for what rounding left
        remove_basis(block, size);
        ctx_.ops<double>().factorise->orthonormalize(block.view());
      }
      if (size > 0) remove_basis(block, size);
      ctx_.ops<double>().tables->gather(std::as_const(block).view(), {}, {}, {}, columns(basis_, size));
      Matrix<double> next(ctx_.memory(), n_, width_);
      multiply(A_.view(), std::as_const(block).view(), next.view());
      ctx_.ops<double>().tables->gather(std::as_const(next).view(), {}, {}, {}, columns(products_, size));
      size += width_;
      if (std::optional<Eigenpairs> found = converged(size)) return found;
      block = std::move(next);
    }
    return std::nullopt;
  }

 private:
  MatrixView<double> columns(Matrix<double>& all, std::int64_t first) const {
    return {all.data() + first, n_, width_, most_};
  }
  MatrixView<const double> leading(const Matrix<double>& all, std::int64_t size) const {
    return {all.data(), n_, size, most_};
  }
  void multiply(MatrixView<const double> X, MatrixView<const double> Y, MatrixView<double> out) const {
    ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, X, Y, 0.0, out);
  }

  void remove_basis(Matrix<double>& block, std::int64_t size) const {
    if (size == 0) return;
    Matrix<double> along(ctx_.memory(), size, width_);
    LinearOps<double>& linear = *ctx_.ops<double>().linear;
    linear.gemm(Transpose::kYes, Transpose::kNo, 1.0, leading(basis_, size), std::as_const(block).view(), 0.0,
                along.view());
    linear.gemm(Transpose::kNo, Transpose::kNo, -1.0, leading(basis_, size), std::as_const(along).view(), 1.0,
                block.view());
  }

  // The best pairs within the basis, if their residuals are small.
  std::optional<Eigenpairs> converged(std::int64_t size) const {
    Matrix<double> small(ctx_.memory(), size, size);
    LinearOps<double>& linear = *ctx_.ops<double>().linear;
    linear.gemm(Transpose::kYes, Transpose::kNo, 1.0, leading(basis_, size), leading(products_, size), 0.0,
                small.view());
    Array<double> w(ctx_.memory(), count_);
    ctx_.ops<double>().factorise->eigh(small.view(), w.view());   // its first rows are now the vectors of the largest
    const MatrixView<const double> chosen = std::as_const(small).view().row_range(0, count_);
    Matrix<double> vectors(ctx_.memory(), count_, n_), residuals(ctx_.memory(), count_, n_);
    linear.gemm(Transpose::kNo, Transpose::kYes, 1.0, chosen, leading(basis_, size), 0.0, vectors.view());
    linear.gemm(Transpose::kNo, Transpose::kYes, 1.0, chosen, leading(products_, size), 0.0, residuals.view());
    Matrix<double> scaled(ctx_.memory(), count_, n_);
    MapOps<double>& maps = *ctx_.ops<double>().maps;
    maps.combine(Binary::kMultiply, std::as_const(vectors).view(), {w.data(), count_, 1}, scaled.view());
    maps.combine(Binary::kSubtract, std::as_const(residuals).view(), std::as_const(scaled).view(), residuals.view());
    Array<double> squares(ctx_.memory(), count_);
    ctx_.ops<double>().rows->row_squared_norms(std::as_const(residuals).view(), squares.view());
    const std::vector<double> left = squares.to_host(), values = w.to_host();
    const double largest = std::abs(values.back());
    for (const double square : left)
      if (!(std::sqrt(square) <= kResidual * largest)) return std::nullopt;
    return descending(values, vectors.to_host());
  }

 public:
  static Eigenpairs descending(const std::vector<double>& values, const std::vector<double>& vectors) {
    Eigenpairs pairs{{values.rbegin(), values.rend()}, {}};
    const std::size_t n = vectors.size() / values.size();
    for (std::size_t k = values.size(); k-- > 0;)
      pairs.vectors.insert(pairs.vectors.end(), vectors.begin() + static_cast<std::ptrdiff_t>(k * n),
                           vectors.begin() + static_cast<std::ptrdiff_t>((k + 1) * n));
    return pairs;
  }

 private:
  const Context& ctx_;
  const Matrix<double>& A_;
  std::int64_t n_, count_, width_, most_;
  Matrix<double> basis_, products_;   // n x most_, orthonormal columns, and A times these
};

}   // namespace

Eigenpairs leading_eigenpairs(const Context& ctx, Matrix<double> A, std::int64_t count) {
  const std::int64_t n = A.rows();
  if ((count + kMore) * kMostBlocks <= n / kWorth)
    if (std::optional<Eigenpairs> found = BlockLanczos(ctx, A, count).run()) return *std::move(found);
  Array<double> w(ctx.memory(), count);
  ctx.ops<double>().factorise->eigh(A.view(), w.view());
  std::vector<double> vectors(static_cast<std::size_t>(count * n));   // the first rows alone
  ctx.memory().to_host(vectors.data(), A.data(), vectors.size() * sizeof(double));
  return BlockLanczos::descending(w.to_host(), vectors);
}

}   // namespace kedge::engine
