// The formulas of the ops on columns that the CPU and the CUDA bodies share, each written once.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/backend/ops/maps.h"
#include "engine/core/portability.h"

namespace kedge::engine {

KEDGE_HD inline double unary(Unary f, double x) {
  switch (f) {
    case Unary::kSquare:
      return x * x;
    case Unary::kAbs:
      return fabs(x);
    case Unary::kSqrt:
      return sqrt(x);
    case Unary::kExp:
      return exp(x);
    case Unary::kLog:
      return log(x);
    case Unary::kTanh:
      return tanh(x);
    case Unary::kLogistic:
      return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
    case Unary::kCos:
      return cos(x);
  }
  return x;
}

// A NaN on either side makes a NaN.
KEDGE_HD inline double binary(Binary f, double x, double y) {
  switch (f) {
    case Binary::kAdd:
      return x + y;
    case Binary::kSubtract:
      return x - y;
    case Binary::kMultiply:
      return x * y;
    case Binary::kDivide:
      return x / y;
    case Binary::kMinimum:
      return x < y || x != x ? x : y;
    case Binary::kMaximum:
      return x > y || x != x ? x : y;
  }
  return x;
}

// The quantile q of n sorted numbers (n >= 1), as numpy's method "linear" finds it: the neighbours' positions and the way
// between.
struct QuantilePlace {
  std::int64_t below, above;
  double between;
};
KEDGE_HD inline QuantilePlace quantile_place(double q, std::int64_t n) {
  const double position = q * static_cast<double>(n - 1);
  std::int64_t below = static_cast<std::int64_t>(floor(position));
  below = below < 0 ? 0 : (below > n - 1 ? n - 1 : below);
  return {below, below + 1 < n ? below + 1 : n - 1, position - static_cast<double>(below)};
}
KEDGE_HD inline double between(double low, double high, double way) {
  const double step = high - low;
  return way < 0.5 ? low + step * way : high - step * (1 - way);
}

KEDGE_HD inline double yeo_johnson_of_log(double l, double lambda) {
  constexpr double kEps = 2.220446049250313e-16;
  if (!(l < 0)) return fabs(lambda) < kEps ? l : expm1(lambda * l) / lambda;
  const double mirrored = 2 - lambda;
  return fabs(mirrored) <= kEps ? l : -expm1(-mirrored * l) / mirrored;
}
KEDGE_HD inline double box_cox_of_log(double l, double lambda, double scale) {
  if (fabs(lambda) < 1e-19) return l;   // as scipy.special.boxcox
  return scale == 0 ? expm1(lambda * l) / lambda : exp(lambda * l - scale) / lambda;
}
KEDGE_HD inline double signed_log(double x) { return x < 0 ? -log1p(-x) : log1p(x); }

KEDGE_HD inline double column_map(ColumnMap map, double x, double a, double b) {
  switch (map) {
    case ColumnMap::kAbove:
      return x != x ? x : (x > a ? 1.0 : 0.0);
    case ColumnMap::kSignedLog:
      return signed_log(x);
    case ColumnMap::kLog:
      return log(x);
    case ColumnMap::kYeoJohnson:
      return yeo_johnson_of_log(signed_log(x), a);
    case ColumnMap::kBoxCox:
      return box_cox_of_log(log(x), a, 0);
    case ColumnMap::kYeoJohnsonOfLog:
      return yeo_johnson_of_log(x, a);
    case ColumnMap::kBoxCoxOfLog:
      return box_cox_of_log(x, a, b);
  }
  return x;
}

KEDGE_HD inline double kernel_value(const Kernel& kernel, double k, double x_norm, double y_norm) {
  switch (kernel.kind) {
    case KernelKind::kPolynomial: {
      const double base = kernel.gamma * k + kernel.coef0;
      return kernel.degree == 2 ? base * base : (kernel.degree == 3 ? base * base * base : pow(base, kernel.degree));
    }
    case KernelKind::kSigmoid:
      return tanh(kernel.gamma * k + kernel.coef0);
    case KernelKind::kGaussian: {
      const double squared = x_norm - 2 * k + y_norm;
      return exp(-kernel.gamma * (squared > 0 ? squared : 0.0));
    }
    case KernelKind::kLaplacian:
      return exp(-kernel.gamma * k);
  }
  return k;
}

// Rows of a smaller norm are left as they are, as in scikit-learn.
template <class T>
KEDGE_HD bool is_tiny_norm(double norm) {
  return norm < 10 * (sizeof(T) == 4 ? 1.1920928955078125e-07 : 2.220446049250313e-16);
}

// First position in edges[0 .. n) whose edge is greater than x: searchsorted(side="right"). NaN comes after all.
KEDGE_HD inline std::int64_t edges_up_to(const double* edges, std::int64_t n, double x) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (x < edges[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// The quantile function of the standard normal distribution: Cephes' ndtri (Moshier 1989), which SciPy uses. 0 < p < 1.
KEDGE_HD inline double polynomial(const double* c, int degree, double x, double sum) {
  for (int i = 0; i <= degree; ++i) sum = sum * x + c[i];
  return sum;
}
KEDGE_HD inline double normal_quantile(double p) {
  const double p0[] = {-5.99633501014107895267E1, 9.80010754185999661536E1, -5.66762857469070293439E1, 1.39312609387279679503E1,
                       -1.23916583867381258016E0};
  const double q0[] = {1.95448858338141759834E0, 4.67627912898881538453E0,  8.63602421390890590575E1, -2.25462687854119370527E2,
                       2.00260212380060660359E2, -8.20372256168333339912E1, 1.59056225126211695515E1, -1.18331621121330003142E0};
  const double p1[] = {4.05544892305962419923E0,   3.15251094599893866154E1,   5.71628192246421288162E1,
                       4.40805073893200834700E1,   1.46849561928858024014E1,   2.18663306850790267539E0,
                       -1.40256079171354495875E-1, -3.50424626827848203418E-2, -8.57456785154685413611E-4};
  const double q1[] = {1.57799883256466749731E1,   4.53907635128879210584E1,  4.13172038254672030440E1,
                       1.50425385692907503408E1,   2.50464946208309415979E0,  -1.42182922854787788574E-1,
                       -3.80806407691578277194E-2, -9.33259480895457427372E-4};
  const double p2[] = {3.23774891776946035970E0,  6.91522889068984211695E0,  3.93881025292474443415E0,
                       1.33303460815807542389E0,  2.01485389549179081538E-1, 1.23716634817820021358E-2,
                       3.01581553508235416007E-4, 2.65806974686737550832E-6, 6.23974539184983293730E-9};
  const double q2[] = {6.02427039364742014255E0,  3.67983563856160859403E0,  1.37702099489081330271E0,
                       2.16236993594496635890E-1, 1.34204006088543189037E-2, 3.28014464682127739104E-4,
                       2.89247864745380683936E-6, 6.79019408009981274425E-9};
  constexpr double kTail = 0.13533528323661269189;   // exp(-2)
  const bool upper = p > 1 - kTail;
  const double y = upper ? 1 - p : p;
  if (y > kTail) {
    const double centred = y - 0.5, square = centred * centred;
    const double x = centred + centred * (square * polynomial(p0, 4, square, 0) / polynomial(q0, 7, square, 1));
    return x * 2.50662827463100050242;   // sqrt(2 pi)
  }
  const double x = sqrt(-2 * log(y)), first = x - log(x) / x, z = 1 / x;
  const double second =
      x < 8 ? z * polynomial(p1, 8, z, 0) / polynomial(q1, 7, z, 1) : z * polynomial(p2, 8, z, 0) / polynomial(q2, 7, z, 1);
  return upper ? first - second : second - first;
}

// numpy.interp(x, from, to) for n >= 1 ascending numbers in `from`; of equal ones it finds the last.
KEDGE_HD inline double interpolated(double x, const double* from, const double* to, std::int64_t n) {
  if (x > from[n - 1]) return to[n - 1];
  const std::int64_t j = edges_up_to(from, n, x) - 1;
  if (j < 0) return to[0];
  if (j >= n - 1 || from[j] == x) return to[j];
  const double slope = (to[j + 1] - to[j]) / (from[j + 1] - from[j]);
  return slope * (x - from[j]) + to[j];
}
// -numpy.interp(-x, -from[::-1], -to[::-1]): of equal numbers in `from` this finds the first where interpolated() finds the last.
KEDGE_HD inline double interpolated_from_above(double x, const double* from, const double* to, std::int64_t n) {
  if (x < from[0]) return to[0];
  std::int64_t low = 0, high = n;   // first position whose number is not less than x
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (from[middle] < x)
      low = middle + 1;
    else
      high = middle;
  }
  if (low >= n) return to[n - 1];
  if (low == 0 || from[low] == x) return to[low];
  const double slope = (to[low - 1] - to[low]) / (from[low - 1] - from[low]);
  return slope * (x - from[low]) + to[low];
}

// Where x lies among a column's quantiles, in [0, 1], or the normal deviate at that place.
KEDGE_HD inline double quantile_rank(double x, const double* quantiles, const double* references, std::int64_t n, bool normal) {
  constexpr double kThreshold = 1e-7, kClip = kThreshold - 2.220446049250313e-16;
  if (x != x || quantiles[0] != quantiles[0]) return x != x ? x : quantiles[0];
  double rank = 0.5 * (interpolated(x, quantiles, references, n) + interpolated_from_above(x, quantiles, references, n));
  const double low = quantiles[0], high = quantiles[n - 1];
  if (normal ? x + kThreshold > high : x == high) rank = 1;
  if (normal ? x - kThreshold < low : x == low) rank = 0;
  if (!normal) return rank;
  const double least = kClip, most = 1 - kClip;
  return normal_quantile(rank < least ? least : (rank > most ? most : rank));
}

// The last interval [t[i], t[i + 1]) that holds x, among those of the base knots.
KEDGE_HD inline std::int64_t knot_interval(const double* t, std::int64_t n_basis, int degree, double x) {
  std::int64_t low = degree, high = n_basis - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (x >= t[middle])
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// One step of the recursion of de Boor (1978): h[0 .. j) of degree j - 1 becomes h[0 .. j] of degree j, or its derivative.
KEDGE_HD inline void raise_degree(const double* t, std::int64_t interval, int j, double x, bool derivative, double* h) {
  double lower[kMostSplineDegree + 1];
  for (int i = 0; i < j; ++i) lower[i] = h[i];
  h[0] = 0;
  for (int i = 1; i <= j; ++i) {
    const double right = t[interval + i], left = t[interval + i - j];
    h[i] = 0;
    if (right == left) continue;
    if (derivative) {
      const double w = j * lower[i - 1] / (right - left);
      h[i - 1] -= w, h[i] = w;
    } else {
      const double w = lower[i - 1] / (right - left);
      h[i - 1] += w * (right - x), h[i] = w * (x - left);
    }
  }
}

// The values (or slopes) at x of the degree + 1 splines that are not 0 on the interval.
KEDGE_HD inline void spline_values(const double* t, std::int64_t interval, int degree, double x, bool derivative, double* h) {
  h[0] = derivative && degree == 0 ? 0.0 : 1.0;
  for (int j = 1; j <= degree; ++j) raise_degree(t, interval, j, x, derivative && j == degree, h);
}

// x moved into the base interval, as often as it takes.
KEDGE_HD inline double into_period(double x, double first, double last) {
  const double period = last - first;
  if (!(period > 0)) return 0;
  double rest = fmod(x - first, period);
  if (rest < 0) rest += period;
  return first + rest;
}

// The first `n_out` of the splines of one column at x, from knots t[0 .. n_knots). NaN gives zeros.
template <class T>
KEDGE_HD void spline_cells(double x, const double* t, std::int64_t n_knots, int degree, Extrapolation extrapolation,
                           std::int64_t n_splines, std::int64_t n_out, T* out) {
  const std::int64_t n_basis = n_knots - degree - 1;
  for (std::int64_t s = 0; s < n_out; ++s) out[s] = T{0};
  if (x != x) return;
  const double first = t[degree], last = t[n_basis];
  double h[kMostSplineDegree + 1], slope[kMostSplineDegree + 1], beyond = 0;
  if (extrapolation == Extrapolation::kPeriodic) {
    x = into_period(x, first, last);
  } else if (extrapolation != Extrapolation::kContinue && (x < first || x > last)) {
    if (extrapolation == Extrapolation::kConstant && degree == 0) return;   // as scikit-learn
    const double end = x < first ? first : last;
    beyond = extrapolation == Extrapolation::kLinear ? x - end : 0.0;
    x = end;
  }
  const std::int64_t interval = knot_interval(t, n_basis, degree, x);
  spline_values(t, interval, degree, x, false, h);
  if (beyond != 0) {
    spline_values(t, interval, degree, x, true, slope);
    for (int i = 0; i <= degree; ++i) h[i] += beyond * slope[i];
  }
  for (int i = 0; i <= degree; ++i) {
    const std::int64_t s = (interval - degree + i) % n_splines;
    if (s < n_out) out[s] = static_cast<T>(static_cast<double>(out[s]) + h[i]);
  }
}

}  // namespace kedge::engine
