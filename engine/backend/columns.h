// What the ops on columns are told beyond their views: which map, which norm, which kernel, which spline.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

// x' = f(x; a, b), a and b one value a column. NaN stays NaN.
enum class ColumnMap : int {
  kAbove,        // 1 if x > a, else 0
  kSignedLog,    // sign(x) log(1 + |x|)
  kLog,          // log(x)
  kYeoJohnson,   // Yeo and Johnson's power transform with lambda a
  kBoxCox,       // Box and Cox's power transform with lambda a
  kYeoJohnsonOfLog,   // kYeoJohnson, from what kSignedLog made of x
  kBoxCoxOfLog,       // kBoxCox, from what kLog made of x; with b not 0, exp(a x - b) / a: the same but for a shift and exp(b)
};

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

// What a spline is beyond its first and last base knot. kConstant: its value there; kLinear: the tangent there; kContinue: its
// polynomials; kPeriodic: itself, again.
enum class Extrapolation : int { kConstant, kLinear, kContinue, kPeriodic };
inline constexpr int kMostSplineDegree = 32;

// B-splines of one degree, as many and the same kind for every column.
struct SplineBasis {
  MatrixView<const double> knots;   // device; row j: the knots of column j, with `degree` of them outside at each end
  int degree = 3;
  Extrapolation extrapolation = Extrapolation::kConstant;
  bool drop_last = false;           // leaves out the last spline of each column

  std::int64_t n_splines() const {   // of one column
    return knots.cols - degree - 1 - (extrapolation == Extrapolation::kPeriodic ? degree : 0);
  }
  std::int64_t n_out() const { return n_splines() - (drop_last ? 1 : 0); }
};

}  // namespace kedge::engine
