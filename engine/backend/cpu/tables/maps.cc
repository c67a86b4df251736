// Maps of columns and rows on the CPU: power transforms, quantile ranks, bins, splines, norms, monomials, kernels.
#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/backend/column_functors.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kExpNs = 20;      // an exponential or logarithm in double
constexpr std::int64_t kSearchNs = 50;   // a place among a column's quantiles or edges
constexpr std::int64_t kSplineNs = 4;    // one division of the recursion

double at(VectorView<const double> v, std::int64_t j) {
  return v.empty() ? 0.0 : raw(v)[j];
}

template <class T>
double row_norm(RowNorm norm, const T* row, std::int64_t cols) {
  if (norm == RowNorm::kL1)
    return lane_sum(cols, [=](std::int64_t j) { return std::abs(static_cast<double>(row[j])); });
  if (norm == RowNorm::kL2)
    return std::sqrt(
        lane_sum(cols, [=](std::int64_t j) { return static_cast<double>(row[j]) * static_cast<double>(row[j]); }));
  double most = 0;
  for (std::int64_t j = 0; j < cols; ++j) most = std::max(most, std::abs(static_cast<double>(row[j])));
  return most;
}

template <class T>
KEDGE_CLONES void square_row(const Kernel& kernel, std::int64_t cols, T* k) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const double base = kernel.gamma * static_cast<double>(k[j]) + kernel.coef0;
    k[j] = static_cast<T>(base * base);
  }
}

// exp(x) of x <= 0 in float: 2^n times a polynomial of degree 7, within 2 ulp; 0 below -87. Source of the polynomial:
// Cephes, expf.c.
inline __attribute__((always_inline)) float float_exp(float x) {
  constexpr float kLog2E = 1.44269504F, kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 0x1.8p23F;   // as in the double one
  const float kept = x < -87.0F ? -87.0F : x, shifted = kept * kLog2E + kRound, n = shifted - kRound;
  const float r = (kept - n * kLn2High) - n * kLn2Low;
  float sum = 1.9875691500E-4F;
  sum = sum * r + 1.3981999507E-3F, sum = sum * r + 8.3334519073E-3F, sum = sum * r + 4.1665795894E-2F;
  sum = sum * r + 1.6666665459E-1F, sum = sum * r + 5.0000001201E-1F;
  const float power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) + 127) << 23);
  return x < -87.0F ? 0.0F : (1.0F + (r + r * r * sum)) * power;
}

// Of floats in float, twice as many at once: a product of floats is rounded by as much as their distance is then.
KEDGE_CLONES void gaussian_row(double gamma, double x_norm, const float* y_norms, std::int64_t cols, float* k) {
  const float g = static_cast<float>(-gamma), x = static_cast<float>(x_norm);
  for (std::int64_t j = 0; j < cols; ++j) {
    const float squared = (x + y_norms[j]) - 2 * k[j];   // the same bits for the rows in the other order
    k[j] = float_exp(g * (squared > 0 ? squared : 0.0F));
  }
}

template <class T>
KEDGE_CLONES void gaussian_row(double gamma, double x_norm, const T* y_norms, std::int64_t cols, T* k) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const double squared = (x_norm + static_cast<double>(y_norms[j])) - 2 * static_cast<double>(k[j]);
    k[j] = static_cast<T>(vector_exp(-gamma * (squared > 0 ? squared : 0.0)));
  }
}

template <class T>
KEDGE_CLONES void laplacian_row(double gamma, std::int64_t cols, T* k) {
  for (std::int64_t j = 0; j < cols; ++j) k[j] = static_cast<T>(vector_exp(-gamma * static_cast<double>(k[j])));
}

// out[c .. end) = x * out[parent ..), where parents follow one another: most monomials come in such runs.
template <class T>
KEDGE_CLONES void multiply_run(T x, const T* parents, std::int64_t n, T* __restrict out) {
  for (std::int64_t c = 0; c < n; ++c) out[c] = x * parents[c];
}

struct Run {   // consecutive columns with one feature and consecutive parents
  std::int64_t first, size;
  std::int32_t feature, parent;
};
std::vector<Run> runs_of(VectorView<const std::int32_t> feature, VectorView<const std::int32_t> parent) {
  std::vector<Run> runs;
  for (std::int64_t c = 0; c < feature.size; ++c) {
    const std::int32_t f = raw(feature)[c], p = raw(parent)[c];
    const bool joins = !runs.empty() && p >= 0 && runs.back().parent >= 0 && runs.back().feature == f &&
                       runs.back().parent + runs.back().size == p && p < runs.back().first;
    if (joins) ++runs.back().size;
    else runs.push_back({c, 1, f, p});
  }
  return runs;
}

// Loops of one formula each, so that the plain ones become vectors.
template <Unary F, class T>
KEDGE_CLONES void map_row(const T* x, double scale, std::int64_t cols, T* out) {
  for (std::int64_t j = 0; j < cols; ++j) out[j] = static_cast<T>(unary(F, scale * static_cast<double>(x[j])));
}

template <class T>
KEDGE_CLONES void tanh_row(const T* x, double scale, std::int64_t cols, T* out) {
  for (std::int64_t j = 0; j < cols; ++j) out[j] = static_cast<T>(vector_tanh(scale * static_cast<double>(x[j])));
}

template <class T>
KEDGE_CLONES void exp_row(const T* x, double scale, std::int64_t cols, T* out) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const double y = scale * static_cast<double>(x[j]);
    out[j] = static_cast<T>(y == y ? (y > 709 ? unary(Unary::kExp, y) : vector_exp(y)) : y);
  }
}

template <class T>
KEDGE_CLONES void cos_row(const T* x, double scale, std::int64_t cols, T* out) {
  bool is_small = true;
  for (std::int64_t j = 0; j < cols; ++j) is_small &= std::abs(scale * static_cast<double>(x[j])) < kMostVectorAngle;
  if (is_small) {
    for (std::int64_t j = 0; j < cols; ++j) out[j] = static_cast<T>(vector_cos(scale * static_cast<double>(x[j])));
  } else {
    for (std::int64_t j = 0; j < cols; ++j) out[j] = static_cast<T>(std::cos(scale * static_cast<double>(x[j])));
  }
}

// y_step is 0 where one value counts for the whole row.
template <Binary F, class T>
KEDGE_CLONES void combine_row(const T* x, const T* y, std::int64_t y_step, std::int64_t cols, T* out) {
  for (std::int64_t j = 0; j < cols; ++j)
    out[j] = static_cast<T>(binary(F, static_cast<double>(x[j]), static_cast<double>(y[j * y_step])));
}

template <class T>
auto row_map(Unary f) {
  switch (f) {
    case Unary::kSquare:
      return map_row<Unary::kSquare, T>;
    case Unary::kAbs:
      return map_row<Unary::kAbs, T>;
    case Unary::kSqrt:
      return map_row<Unary::kSqrt, T>;
    case Unary::kExp:
      return exp_row<T>;
    case Unary::kLog:
      return map_row<Unary::kLog, T>;
    case Unary::kTanh:
      return tanh_row<T>;
    case Unary::kCos:
      return cos_row<T>;
    case Unary::kLogistic:
      break;
  }
  return map_row<Unary::kLogistic, T>;
}

template <class T>
auto row_combination(Binary f) {
  switch (f) {
    case Binary::kAdd:
      return combine_row<Binary::kAdd, T>;
    case Binary::kSubtract:
      return combine_row<Binary::kSubtract, T>;
    case Binary::kMultiply:
      return combine_row<Binary::kMultiply, T>;
    case Binary::kDivide:
      return combine_row<Binary::kDivide, T>;
    case Binary::kMinimum:
      return combine_row<Binary::kMinimum, T>;
    case Binary::kMaximum:
      break;
  }
  return combine_row<Binary::kMaximum, T>;
}

template <class T>
class CpuMaps final : public MapOps<T> {
 public:
  void map_columns(ColumnMap map, VectorView<const double> a, VectorView<const double> b, MatrixView<const T> X,
                   MatrixView<T> out) override {
    const std::int64_t element_ns = map == ColumnMap::kAbove ? 1 : kExpNs;
    for_rows(X.rows, X.cols * element_ns, [&](std::int64_t i) {
      const T* const row = raw(X) + i * X.stride;
      T* const to = raw(out) + i * out.stride;
      for (std::int64_t j = 0; j < X.cols; ++j)
        to[j] = static_cast<T>(column_map(map, static_cast<double>(row[j]), at(a, j), at(b, j)));
    });
  }

  void map(Unary f, double scale, MatrixView<const T> X, MatrixView<T> out) override {
    const std::int64_t element_ns = f == Unary::kSquare || f == Unary::kAbs ? 1 : kExpNs;
    const auto row = row_map<T>(f);
    for_rows(X.rows, X.cols * element_ns,
             [&](std::int64_t i) { row(raw(X) + i * X.stride, scale, X.cols, raw(out) + i * out.stride); });
  }

  void combine(Binary f, MatrixView<const T> X, MatrixView<const T> Y, MatrixView<T> out) override {
    const auto row = row_combination<T>(f);
    for_rows(X.rows, X.cols, [&](std::int64_t i) {
      row(raw(X) + i * X.stride, raw(Y) + (Y.rows == 1 ? 0 : i * Y.stride), Y.cols == 1 ? 0 : 1, X.cols,
          raw(out) + i * out.stride);
    });
  }

  void quantile_ranks(MatrixView<const T> X, MatrixView<const double> quantiles, VectorView<const double> references,
                      bool normal, MatrixView<T> out) override {
    for_rows(X.rows, X.cols * 2 * kSearchNs, [&](std::int64_t i) {
      const T* const row = raw(X) + i * X.stride;
      for (std::int64_t j = 0; j < X.cols; ++j) {
        const double* const column = raw(quantiles) + j * quantiles.stride;
        raw(out)[i * out.stride + j] = static_cast<T>(
            quantile_rank(static_cast<double>(row[j]), column, raw(references), references.size, normal));
      }
    });
  }

  void bin_columns(MatrixView<const T> X, VectorView<const double> edges, VectorView<const std::int32_t> first_edge,
                   VectorView<const std::int32_t> first_out, MatrixView<T> out) override {
    for_rows(X.rows, X.cols * kSearchNs + out.cols, [&](std::int64_t i) {
      T* const to = raw(out) + i * out.stride;
      if (!first_out.empty()) std::fill_n(to, out.cols, T{0});
      for (std::int64_t j = 0; j < X.cols; ++j) {
        const std::int32_t first = raw(first_edge)[j];
        const std::int64_t bin = edges_up_to(raw(edges) + first, raw(first_edge)[j + 1] - first,
                                             static_cast<double>(raw(X)[i * X.stride + j]));
        if (first_out.empty()) to[j] = static_cast<T>(bin);
        else to[raw(first_out)[j] + bin] = T{1};
      }
    });
  }

  void spline_basis(MatrixView<const T> X, const SplineBasis& spline, MatrixView<T> out) override {
    const std::int64_t n_splines = spline.n_splines(), n_out = spline.n_out();
    const std::int64_t cell_ns = n_out + kSplineNs * spline.degree * (spline.degree + 1) / 2;
    for_rows(X.rows, X.cols * cell_ns, [&](std::int64_t i) {
      for (std::int64_t j = 0; j < X.cols; ++j)
        spline_cells(static_cast<double>(raw(X)[i * X.stride + j]), raw(spline.knots) + j * spline.knots.stride,
                     spline.knots.cols, spline.degree, spline.extrapolation, n_splines, n_out,
                     raw(out) + i * out.stride + j * n_out);
    });
  }

  void normalize_rows(RowNorm norm, MatrixView<T> X) override {
    for_rows(X.rows, 2 * X.cols, [&](std::int64_t i) {
      T* const row = raw(X) + i * X.stride;
      const double size = row_norm(norm, row, X.cols);
      if (is_tiny_norm<T>(size)) return;
      for (std::int64_t j = 0; j < X.cols; ++j) row[j] = static_cast<T>(static_cast<double>(row[j]) / size);
    });
  }

  void monomials(MatrixView<const T> X, VectorView<const std::int32_t> feature, VectorView<const std::int32_t> parent,
                 MatrixView<T> out) override {
    const std::vector<Run> runs = runs_of(feature, parent);
    for_rows(X.rows, out.cols, [&](std::int64_t i) {
      T* const to = raw(out) + i * out.stride;
      for (const Run& run : runs) {
        const T x = run.feature < 0 ? T{1} : raw(X)[i * X.stride + run.feature];
        if (run.parent < 0) to[run.first] = x;
        else multiply_run(x, to + run.parent, run.size, to + run.first);
      }
    });
  }

  void apply_kernel(const Kernel& kernel, VectorView<const T> x_norms, VectorView<const T> y_norms,
                    MatrixView<T> K) override {
    const bool square = kernel.kind == KernelKind::kPolynomial && kernel.degree == 2,
               slow = kernel.kind == KernelKind::kPolynomial || kernel.kind == KernelKind::kSigmoid;
    for_rows(K.rows, K.cols * (slow && !square ? kExpNs : 2), [&](std::int64_t i) {
      T* const row = raw(K) + i * K.stride;
      if (square) return square_row(kernel, K.cols, row);
      if (kernel.kind == KernelKind::kGaussian)
        return gaussian_row(kernel.gamma, static_cast<double>(raw(x_norms)[i]), raw(y_norms), K.cols, row);
      if (kernel.kind == KernelKind::kLaplacian) return laplacian_row(kernel.gamma, K.cols, row);
      for (std::int64_t j = 0; j < K.cols; ++j)
        row[j] = static_cast<T>(kernel_value(kernel, static_cast<double>(row[j]), 0, 0));
    });
  }
};

}   // namespace

template <class T>
std::unique_ptr<MapOps<T>> make_cpu_maps() {
  return std::make_unique<CpuMaps<T>>();
}
template std::unique_ptr<MapOps<float>> make_cpu_maps<float>();
template std::unique_ptr<MapOps<double>> make_cpu_maps<double>();

}   // namespace kedge::engine
