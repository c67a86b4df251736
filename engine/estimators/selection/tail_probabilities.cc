// Incomplete beta and gamma functions by series and continued fractions (Press et al., Numerical Recipes, 6.2 and 6.4; Lentz
// 1976).
#include "engine/estimators/selection/tail_probabilities.h"

#include <cmath>
#include <limits>

namespace kedge::engine {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon() / 2, kTiny = 1e-300;
constexpr int kMostTerms = 100'000;

double not_zero(double v) { return std::abs(v) < kTiny ? kTiny : v; }

// The continued fraction of the incomplete beta function, for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int i = 1; i <= kMostTerms; ++i) {
    const double m = i, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                 odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + even * d), c = not_zero(1 + even / c), fraction *= d * c;
    d = 1 / not_zero(1 + odd * d), c = not_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 2 * kEps) break;
  }
  return fraction;
}

// The regularised incomplete beta function; y is 1 - x.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(y));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, y) / b;
}

double gamma_front(double a, double x) { return std::exp(a * std::log(x) - x - std::lgamma(a)); }

}  // namespace

double f_tail(double between, double within, double f) {
  if (std::isnan(f)) return f;
  if (std::isinf(f)) return 0;
  const double total = within + between * f;
  return incomplete_beta(within / 2, between / 2, within / total, between * f / total);
}

double chi_squared_tail(double freedom, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return 1;
  if (std::isinf(x)) return 0;
  const double a = freedom / 2, half = x / 2;
  if (half < a + 1) {
    double term = 1 / a, sum = term;
    for (int i = 1; i <= kMostTerms && std::abs(term) > kEps * std::abs(sum); ++i) sum += term *= half / (a + i);
    return 1 - sum * gamma_front(a, half);
  }
  double b = half + 1 - a, c = 1 / kTiny, d = 1 / b, fraction = d;
  for (int i = 1; i <= kMostTerms; ++i) {
    const double step = -i * (i - a);
    b += 2;
    d = 1 / not_zero(step * d + b), c = not_zero(b + step / c), fraction *= d * c;
    if (std::abs(d * c - 1) < 2 * kEps) break;
  }
  return fraction * gamma_front(a, half);
}

}  // namespace kedge::engine
