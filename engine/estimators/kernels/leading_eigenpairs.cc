// Block Lanczos, with a polynomial where eigenvalues lie close together, and the decomposition that stands in for it.
#include "engine/estimators/kernels/leading_eigenpairs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/estimators/kernels/block_lanczos.h"

namespace kedge::engine {
namespace {

// out = T_degree(M) Y, M being A with [-1, cut] mapped to [-1, 1], so that what lies above the cut grows.
class ChebyshevFilter {
 public:
  ChebyshevFilter(const Context& ctx, const SymmetricProduct& product, double cut)
      : ctx_(ctx), product_(product), half_(std::max((cut + 1) / 2, kLeast)), centre_(half_ - 1) {
    constexpr double kGrowth = 4;   // of the largest eigenvalue: e to this power
    const double distance = std::acosh(std::max((1 - centre_) / half_, 1 + 1e-6));
    degree_ = static_cast<int>(std::clamp(kGrowth / distance, 2.0, 60.0));
  }

  void operator()(MatrixView<const double> Y, MatrixView<double> out) const {
    Matrix<double> before(ctx_.memory(), Y.rows, Y.cols), last(ctx_.memory(), Y.rows, Y.cols);
    ctx_.ops<double>().tables->gather(Y, {}, {}, {}, before.view());
    step(Y, 1, last.view());
    for (int i = 2; i <= degree_; ++i) {
      ctx_.check_stop();
      step(std::as_const(last).view(), 2, out);
      ctx_.ops<double>().maps->combine(Binary::kSubtract, out, std::as_const(before).view(), before.view());
      std::swap(before, last);
    }
    ctx_.ops<double>().tables->gather(std::as_const(last).view(), {}, {}, {}, out);
  }
  int degree() const { return degree_; }

 private:
  static constexpr double kLeast = 0.05;   // of half_: then all eigenvalues but the wanted ones are near -1

  // out = factor M Y
  void step(MatrixView<const double> Y, double factor, MatrixView<double> out) const {
    product_(Y, out);
    const std::vector<double> shift(static_cast<std::size_t>(Y.cols), centre_), scale(shift.size(), factor / half_);
    const Array<double> scales(ctx_.memory(), std::span<const double>(scale));
    if (centre_ != 0) {
      Matrix<double> shifted(ctx_.memory(), Y.rows, Y.cols);
      const Array<double> centres(ctx_.memory(), std::span<const double>(shift));
      ctx_.ops<double>().tables->gather(Y, {}, {}, centres.view(), shifted.view());
      ctx_.ops<double>().maps->combine(Binary::kSubtract, out, std::as_const(shifted).view(), out);
    }
    ctx_.ops<double>().tables->gather(out, {}, {}, scales.view(), out);
  }

  const Context& ctx_;
  const SymmetricProduct& product_;
  double half_, centre_;
  int degree_;
};

constexpr int kMostRuns = 30;

// Whether the residual, which is `left` after `runs` runs and was `first` after one, becomes small in the runs that are
// left, if it falls twice as fast from now on.
bool is_on_course(double first, double left, double wanted, int runs) {
  constexpr int kFirstRuns = 6;   // which say little of the rest
  if (runs < kFirstRuns) return true;
  const double pace = std::log(first / left) / (runs - 1);
  return 2 * pace * (kMostRuns - runs) >= std::log(left / wanted);
}

}   // namespace

Eigenpairs descending(const std::vector<double>& values, const std::vector<double>& vectors) {
  Eigenpairs pairs{{values.rbegin(), values.rend()}, {}};
  const std::size_t n = vectors.size() / values.size();
  for (std::size_t k = values.size(); k-- > 0;)
    pairs.vectors.insert(pairs.vectors.end(), vectors.begin() + static_cast<std::ptrdiff_t>(k * n),
                         vectors.begin() + static_cast<std::ptrdiff_t>((k + 1) * n));
  return pairs;
}

Eigenpairs leading_eigenpairs(const Context& ctx, Matrix<double> A, std::int64_t count) {
  const std::int64_t n = A.rows();
  if (BlockLanczos::pays(n, count)) {
    BlockLanczos lanczos(ctx, n, count, [&](MatrixView<const double> Y, MatrixView<double> out) {
      ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kNo, 1.0, std::as_const(A).view(), Y, 0.0, out);
    });
    if (std::optional<Eigenpairs> found = lanczos.run(lanczos.random_block())) return *std::move(found);
  }
  Array<double> w(ctx.memory(), count);
  ctx.ops<double>().factorise->eigh(A.view(), w.view());
  std::vector<double> vectors(static_cast<std::size_t>(count * n));   // the first rows alone
  ctx.memory().to_host(vectors.data(), A.data(), vectors.size() * sizeof(double));
  return descending(w.to_host(), vectors);
}

std::optional<Eigenpairs> leading_eigenpairs(const Context& ctx, std::int64_t n, std::int64_t count,
                                             const SymmetricProduct& product, double residual, double most_products) {
  if (!BlockLanczos::pays(n, count)) return std::nullopt;
  BlockLanczos lanczos(ctx, n, count, product, residual);
  std::optional<Eigenpairs> found = lanczos.run(lanczos.random_block());
  const double first = lanczos.left();
  double products = BlockLanczos::kMostBlocks;
  for (int run = 1; !found && run < kMostRuns && is_on_course(first, lanczos.left(), residual, run); ++run) {
    BlockLanczos::Restart again = lanczos.restart();
    const ChebyshevFilter filter(ctx, product, again.least);
    products += static_cast<double>(BlockLanczos::kMostBlocks * (1 + filter.degree()));
    if (products > most_products) break;
    found = lanczos.run(std::move(again.block), filter);
  }
  return found;
}

}   // namespace kedge::engine
