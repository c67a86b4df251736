// Random numbers, or the parts of singular vectors that have one sign.
#include "engine/estimators/decomposition/nmf_start.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/estimators/decomposition/pca_solvers.h"

namespace kedge::engine {
namespace {

constexpr double kSmallest = 1e-6;   // smaller numbers of the singular vectors' parts become 0

template <class T>
Spectrum spectrum_of(const Context& ctx, const Samples<T>& X, std::int64_t k) {
  const std::vector<double> origin(static_cast<std::size_t>(X.n_cols()), 0.0);
  Spectrum spectrum;
  if (X.n_rows() >= X.n_cols()) spectrum = covariance_spectrum(ctx, X, origin, k);
  if (spectrum.variance.empty() || !is_well_conditioned<T>(spectrum, k)) spectrum = svd_spectrum(ctx, X, origin);
  return spectrum;
}

// |N(0, 1)| times `scale`.
template <class T>
Matrix<T> drawn(const Context& ctx, std::int64_t rows, std::int64_t cols, double scale, std::uint64_t seed,
                std::uint64_t stream) {
  Matrix<T> made(ctx.memory(), rows, cols);
  ctx.ops<T>().rows->fill_normal(seed, stream, made.view());
  ctx.ops<T>().maps->map(Unary::kAbs, scale, std::as_const(made).view(), made.view());
  return made;
}

// What is at most `least` becomes 0.
template <class T>
void cut(const Context& ctx, Matrix<T>& M, double least) {
  const Array<double> threshold(ctx.memory(), std::vector<double>{least});
  Matrix<T> above(ctx.memory(), M.rows(), M.cols());
  const std::int64_t size = M.rows() * M.cols();
  ctx.ops<T>().maps->map_columns(ColumnMap::kAbove, threshold.view(), {}, MatrixView<const T>(M.data(), size, 1),
                                 MatrixView<T>(above.data(), size, 1));
  ctx.ops<T>().maps->combine(Binary::kMultiply, std::as_const(M).view(), std::as_const(above).view(), M.view());
}

// Zeros become the numbers of `filling`, which may be one for all.
template <class T>
void fill_zeros(const Context& ctx, Matrix<T>& M, const Matrix<T>& filling) {
  MapOps<T>& maps = *ctx.ops<T>().maps;
  Matrix<T> holes(ctx.memory(), M.rows(), M.cols());
  const Matrix<T> numbers(ctx.memory(), 2, 1, std::vector<T>{T{-1}, T{1}});
  maps.map_columns(ColumnMap::kAbove, {}, {}, std::as_const(M).view(), holes.view());
  maps.combine(Binary::kMultiply, std::as_const(holes).view(), numbers.view().row_range(0, 1), holes.view());
  maps.combine(Binary::kAdd, std::as_const(holes).view(), numbers.view().row_range(1, 1), holes.view());
  maps.combine(Binary::kMultiply, std::as_const(holes).view(), filling.view(), holes.view());
  maps.combine(Binary::kAdd, std::as_const(M).view(), std::as_const(holes).view(), M.view());
}

// The norms of the positive and of the negative parts of each row.
template <class T>
std::pair<std::vector<T>, std::vector<T>> squared_parts(const Context& ctx, MatrixView<const T> U) {
  MapOps<T>& maps = *ctx.ops<T>().maps;
  const Matrix<T> zero(ctx.memory(), 1, 1, std::vector<T>{T{0}});
  Matrix<T> part(ctx.memory(), U.rows, U.cols);
  Array<T> norms(ctx.memory(), U.rows);
  std::pair<std::vector<T>, std::vector<T>> found;
  maps.combine(Binary::kMaximum, U, zero.view(), part.view());
  ctx.ops<T>().rows->row_squared_norms(std::as_const(part).view(), norms.view());
  found.first = norms.to_host();
  maps.combine(Binary::kMinimum, U, zero.view(), part.view());
  ctx.ops<T>().rows->row_squared_norms(std::as_const(part).view(), norms.view());
  found.second = norms.to_host();
  return found;
}

// Non-negative double singular value decomposition, with its zeros.
template <class T>
NmfStart<T> of_singular_vectors(const Context& ctx, const Samples<T>& X, MatrixView<const T> values, std::int64_t k) {
  const Spectrum spectrum = spectrum_of(ctx, X, k);
  const std::int64_t d = values.cols;
  const std::vector<T> directions(spectrum.components.begin(), spectrum.components.begin() + k * d);
  const Matrix<T> V(ctx.memory(), k, d, directions);
  NmfStart<T> start{.W = Matrix<T>(ctx.memory(), k, values.rows)};
  ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, V.view(), values, T{0},
                            start.W.view());   // U' times the singular values
  ctx.ops<T>().maps->map(Unary::kAbs, 1, std::as_const(start.W).view().row_range(0, 1), start.W.view().row_range(0, 1));
  const auto [positive, negative] = squared_parts(ctx, std::as_const(start.W).view());
  std::vector<T> H(directions.size()), scale(static_cast<std::size_t>(k));
  for (std::size_t j = 0; j < scale.size(); ++j) {
    const double* const v = spectrum.components.data() + static_cast<std::int64_t>(j) * d;
    double above = 0, below = 0;
    for (std::int64_t c = 0; c < d; ++c) (j == 0 || v[c] > 0 ? above : below) += v[c] * v[c];
    const double up = std::sqrt(static_cast<double>(positive[j]) * above),
                 down = std::sqrt(static_cast<double>(negative[j]) * below);
    const bool is_up = up > down;   // singular values times the products of the norms
    const double lead = std::sqrt(std::max(up, down));
    const double u_norm = std::sqrt(static_cast<double>(is_up ? positive[j] : negative[j])),
                 v_norm = std::sqrt(is_up ? above : below);
    if (!(lead > 0)) continue;
    scale[j] = static_cast<T>((is_up ? 1 : -1) * lead / u_norm);
    for (std::int64_t c = 0; c < d; ++c) {
      const double part = j == 0 ? std::abs(v[c]) : std::max(0.0, is_up ? v[c] : -v[c]);
      H[j * static_cast<std::size_t>(d) + static_cast<std::size_t>(c)] = static_cast<T>(lead * part / v_norm);
    }
  }
  const Matrix<T> scales(ctx.memory(), k, 1, scale);
  ctx.ops<T>().maps->combine(Binary::kMultiply, std::as_const(start.W).view(), scales.view(), start.W.view());
  start.H = Matrix<T>(ctx.memory(), k, d, H);
  cut(ctx, start.W, kSmallest), cut(ctx, start.H, kSmallest);
  return start;
}

}   // namespace

template <class T>
NmfStart<T> nmf_start(const Context& ctx, const Samples<T>& X, MatrixView<const T> values, const std::string& init,
                      std::int64_t k, double mean, std::uint64_t seed) {
  const std::int64_t n = values.rows, d = values.cols;
  if (init == "random") {
    const double scale = std::sqrt(mean / static_cast<double>(k));
    return {drawn<T>(ctx, k, n, scale, seed, 1), drawn<T>(ctx, k, d, scale, seed, 0)};
  }
  NmfStart<T> start = of_singular_vectors(ctx, X, values, k);
  if (init == "nndsvda") {
    const Matrix<T> filling(ctx.memory(), 1, 1, std::vector<T>{static_cast<T>(mean)});
    fill_zeros(ctx, start.W, filling), fill_zeros(ctx, start.H, filling);
  } else if (init == "nndsvdar") {
    fill_zeros(ctx, start.W, drawn<T>(ctx, k, n, mean / 100, seed, 1));
    fill_zeros(ctx, start.H, drawn<T>(ctx, k, d, mean / 100, seed, 0));
  }
  return start;
}

template NmfStart<float> nmf_start(const Context&, const Samples<float>&, MatrixView<const float>, const std::string&,
                                   std::int64_t, double, std::uint64_t);
template NmfStart<double> nmf_start(const Context&, const Samples<double>&, MatrixView<const double>,
                                    const std::string&, std::int64_t, double, std::uint64_t);

}   // namespace kedge::engine
