// The basis of a block Krylov space, and the best pairs within it.
#include "engine/estimators/kernels/block_lanczos.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kedge::engine {
namespace {

constexpr std::int64_t kWorth = 2;          // of the rows: a basis larger than one part of so many is no gain
constexpr std::uint64_t kSeed = 20261126;   // of the first block: the answer is the matrix's own

}   // namespace

BlockLanczos::BlockLanczos(const Context& ctx, std::int64_t n, std::int64_t count, SymmetricProduct product,
                           double residual)
    : ctx_(ctx),
      product_(std::move(product)),
      n_(n),
      count_(count),
      width_(count + kMore),
      most_(width_ * kMostBlocks),
      residual_(residual),
      basis_(ctx.memory(), n_, most_),
      products_(ctx.memory(), n_, most_) {}

bool BlockLanczos::pays(std::int64_t n, std::int64_t count) {
  return (count + kMore) * kMostBlocks <= n / kWorth;
}

Matrix<double> BlockLanczos::random_block() const {
  Matrix<double> block(ctx_.memory(), n_, width_);
  ctx_.ops<double>().rows->fill_normal(kSeed, 0, block.view());
  return block;
}

std::optional<Eigenpairs> BlockLanczos::run(Matrix<double> block, const SymmetricProduct& filter) {
  for (std::int64_t size = 0; size < most_;) {
    ctx_.check_stop();
    for (int turn = 0; turn < 2; ++turn) {   // once more for what rounding left
      remove_basis(block, size);
      ctx_.ops<double>().factorise->orthonormalize(block.view());
    }
    if (size > 0) remove_basis(block, size);
    ctx_.ops<double>().tables->gather(std::as_const(block).view(), {}, {}, {}, columns(basis_, size));
    Matrix<double> next(ctx_.memory(), n_, width_);
    product_(std::as_const(block).view(), next.view());
    ctx_.ops<double>().tables->gather(std::as_const(next).view(), {}, {}, {}, columns(products_, size));
    size += width_;
    if (std::optional<Eigenpairs> found = converged(size)) return found;
    if (filter && size < most_) filter(std::as_const(block).view(), next.view());
    block = std::move(next);
  }
  return std::nullopt;
}

MatrixView<double> BlockLanczos::columns(Matrix<double>& all, std::int64_t first) const {
  return {all.data() + first, n_, width_, most_};
}

MatrixView<const double> BlockLanczos::leading(const Matrix<double>& all, std::int64_t size) const {
  return {all.data(), n_, size, most_};
}

void BlockLanczos::remove_basis(Matrix<double>& block, std::int64_t size) const {
  if (size == 0) return;
  Matrix<double> along(ctx_.memory(), size, width_);
  LinearOps<double>& linear = *ctx_.ops<double>().linear;
  linear.gemm(Transpose::kYes, Transpose::kNo, 1.0, leading(basis_, size), std::as_const(block).view(), 0.0,
              along.view());
  linear.gemm(Transpose::kNo, Transpose::kNo, -1.0, leading(basis_, size), std::as_const(along).view(), 1.0,
              block.view());
}

// The matrix as the basis sees it.
Matrix<double> BlockLanczos::projected(std::int64_t size) const {
  Matrix<double> small(ctx_.memory(), size, size);
  ctx_.ops<double>().linear->gemm(Transpose::kYes, Transpose::kNo, 1.0, leading(basis_, size), leading(products_, size),
                                  0.0, small.view());
  return small;
}

// The best pairs within the basis, if their residuals are small.
std::optional<Eigenpairs> BlockLanczos::converged(std::int64_t size) {
  Matrix<double> small = projected(size);
  LinearOps<double>& linear = *ctx_.ops<double>().linear;
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
  left_ = 0;
  for (const double square : left) left_ = std::max(left_, std::sqrt(square));
  const bool is_found = std::ranges::all_of(left, [&](double s) { return std::sqrt(s) <= residual_ * largest; });
  if (largest > 0) left_ /= largest;
  if (!is_found) return std::nullopt;
  return descending(values, vectors.to_host());
}

BlockLanczos::Restart BlockLanczos::restart() const {
  Matrix<double> small = projected(most_);
  Array<double> w(ctx_.memory(), width_);
  ctx_.ops<double>().factorise->eigh(small.view(), w.view());
  Restart made{Matrix<double>(ctx_.memory(), n_, width_), w.to_host().front()};
  ctx_.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, leading(basis_, most_),
                                  std::as_const(small).view().row_range(0, width_), 0.0, made.block.view());
  return made;
}

}   // namespace kedge::engine
