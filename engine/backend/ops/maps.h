// Maps of cells by a formula that is chosen by column or for all.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

// x' = f(x; a, b), a and b one value a column. NaN stays NaN.
enum class ColumnMap : int {
  kAbove,             // 1 if x > a, otherwise 0
  kSignedLog,         // sign(x) log(1 + |x|)
  kLog,               // log(x)
  kYeoJohnson,        // Yeo and Johnson's power transform with lambda a
  kBoxCox,            // Box and Cox's power transform with lambda a
  kYeoJohnsonOfLog,   // kYeoJohnson, from what kSignedLog made of x
  kBoxCoxOfLog,   // kBoxCox, from what kLog made of x; with b not 0, exp(a x - b) / a: the same except for a shift and
                  // exp(b)
};

// f(x) in double; NaN stays NaN.
enum class Unary : int { kSquare, kAbs, kSqrt, kExp, kLog, kTanh, kLogistic, kCos };
enum class Binary : int { kAdd, kSubtract, kMultiply, kDivide, kMinimum, kMaximum };

enum class RowNorm : int { kL1, kL2, kMax };

// K = f(K; x, y), where K holds inner products of rows x and y, or their Manhattan distances.
enum class KernelKind : int {
  kPolynomial,   // (gamma K + coef0) ^ degree
  kSigmoid,      // tanh(gamma K + coef0)
  kGaussian,     // exp(-gamma max(0, |x|^2 + |y|^2 - 2 K))
  kLaplacian,    // exp(-gamma K)
};
struct Kernel {
  KernelKind kind = KernelKind::kGaussian;
  double gamma = 1, coef0 = 1, degree = 3;
};

// What a spline is beyond its first and last base knot. kConstant: its value there; kLinear: the tangent there;
// kContinue: its polynomials; kPeriodic: itself, again.
enum class Extrapolation : int { kConstant, kLinear, kContinue, kPeriodic };
inline constexpr int kMostSplineDegree = 32;

// B-splines of one degree, as many and the same kind for every column.
struct SplineBasis {
  MatrixView<const double> knots;   // device; row j: the knots of column j, with `degree` of them outside at each end
  int degree = 3;
  Extrapolation extrapolation = Extrapolation::kConstant;
  bool drop_last = false;   // leaves out the last spline of each column

  std::int64_t n_splines() const {   // of one column
    return knots.cols - degree - 1 - (extrapolation == Extrapolation::kPeriodic ? degree : 0);
  }
  std::int64_t n_out() const { return n_splines() - (drop_last ? 1 : 0); }
};

template <class T>
class MapOps {
 public:
  virtual ~MapOps() = default;

  // out[i, j] = map(X[i, j]; a[j], b[j]) in double, rounded once; an empty a or b is 0. `out` may be X. Agree within 4
  // ulp of the largest step.
  virtual void map_columns(ColumnMap map, VectorView<const double> a, VectorView<const double> b, MatrixView<const T> X,
                           MatrixView<T> out) = 0;
  // out[i, j] = f(scale * X[i, j]) in double, rounded once. `out` may be X. Agree within 4 ulp.
  virtual void map(Unary f, double scale, MatrixView<const T> X, MatrixView<T> out) = 0;
  // out[i, j] = f(X[i, j], Y[i, j]) in double, rounded once; a Y of one row or one column counts for all. `out` may be
  // X or Y.
  virtual void combine(Binary f, MatrixView<const T> X, MatrixView<const T> Y, MatrixView<T> out) = 0;
  // out[i, j] = place of X[i, j] among `quantiles`[j, :] (ascending), in terms of `references` (0 to 1), or the normal
  // deviate there.
  virtual void quantile_ranks(MatrixView<const T> X, MatrixView<const double> quantiles,
                              VectorView<const double> references, bool normal, MatrixView<T> out) = 0;
  // Bin of X[i, j]: how many of its edges, edges[first_edge[j] .. first_edge[j + 1]), are not greater. out[i, j] is the
  // bin, or, where first_out is given, out[i, first_out[j] + bin] = 1 and the rest 0.
  virtual void bin_columns(MatrixView<const T> X, VectorView<const double> edges,
                           VectorView<const std::int32_t> first_edge, VectorView<const std::int32_t> first_out,
                           MatrixView<T> out) = 0;
  // out[i, j * n_out ..] = the splines of column j at X[i, j], in double, rounded once; NaN gives zeros.
  virtual void spline_basis(MatrixView<const T> X, const SplineBasis& spline, MatrixView<T> out) = 0;
  virtual void normalize_rows(RowNorm norm,
                              MatrixView<T> X) = 0;   // each row divided by its norm, unless that is below 10 eps
  // out[i, c] = X[i, feature[c]] * out[i, parent[c]]; parent[c] < c, or -1 for 1; feature -1 is 1.
  virtual void monomials(MatrixView<const T> X, VectorView<const std::int32_t> feature,
                         VectorView<const std::int32_t> parent, MatrixView<T> out) = 0;
  // K[i, j] = kernel(K[i, j]) in double, rounded once; kGaussian alone reads the norms, and may take floats in float.
  virtual void apply_kernel(const Kernel& kernel, VectorView<const T> x_norms, VectorView<const T> y_norms,
                            MatrixView<T> K) = 0;
};

}   // namespace kedge::engine
