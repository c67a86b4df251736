// Brent's method in SciPy's two forms: the same steps with the same constants, written as coroutines.
#include "engine/estimators/preprocessing/scalar_search.h"

#include <algorithm>
#include <cmath>

#include "engine/core/require.h"

namespace kedge::engine {
namespace {

constexpr int kMostCalls = 500;

struct Bracket {   // f(b) is at most f(a) and f(c), b lies between
  double a = 0, b = 0, c = 0, fa = 0, fb = 0, fc = 0;
};

// Where the parabola through three points has its extreme, kept from dividing by 0.
double parabola_extreme(const Bracket& p) {
  constexpr double kVerySmall = 1e-21;
  const double left = (p.b - p.a) * (p.fb - p.fc), right = (p.b - p.c) * (p.fb - p.fa), value = right - left;
  const double denominator = 2 * (std::abs(value) < kVerySmall ? kVerySmall : value);
  return p.b - ((p.b - p.c) * right - (p.b - p.a) * left) / denominator;
}

Search<Bracket> bracket_from(double first, double second) {
  constexpr double kGold = 1.618034, kGrowLimit = 110;
  constexpr int kMostSteps = 1000;
  Bracket p{.a = first, .b = second};
  p.fa = co_yield p.a;
  p.fb = co_yield p.b;
  if (p.fa < p.fb) std::swap(p.a, p.b), std::swap(p.fa, p.fb);
  p.c = p.b + kGold * (p.b - p.a);
  p.fc = co_yield p.c;
  for (int step = 0; p.fc < p.fb; ++step) {
    require(step <= kMostSteps, schema::ErrorCode::kBadData, "found no minimum of the likelihood");
    double w = parabola_extreme(p), fw;
    const double limit = p.b + kGrowLimit * (p.c - p.b);
    if ((w - p.c) * (p.b - w) > 0) {
      fw = co_yield w;
      if (fw < p.fc) {
        p.a = p.b, p.b = w, p.fa = p.fb, p.fb = fw;
        break;
      }
      if (fw > p.fb) {
        p.c = w, p.fc = fw;
        break;
      }
      w = p.c + kGold * (p.c - p.b);
    } else if ((w - limit) * (limit - p.c) >= 0) {
      w = limit;
    } else if ((w - limit) * (p.c - w) > 0) {
      fw = co_yield w;
      if (fw < p.fc) {
        p.b = p.c, p.c = w, p.fb = p.fc, p.fc = fw;
        w = p.c + kGold * (p.c - p.b);
        fw = co_yield w;
      }
      p.a = p.b, p.b = p.c, p.c = w, p.fa = p.fb, p.fb = p.fc, p.fc = fw;
      continue;
    } else {
      w = p.c + kGold * (p.c - p.b);
    }
    fw = co_yield w;
    p.a = p.b, p.b = p.c, p.c = w, p.fa = p.fb, p.fb = p.fc, p.fc = fw;
  }
  co_return p;
}

// The three best points, and the last two steps, of Brent's method.
struct BrentState {
  double low, high, x, w, v, fx, fw, fv, step = 0, former = 0;

  // The step of a parabola through the three points, if it may be trusted.
  bool parabola(double& taken) const {
    const double r = (x - w) * (fx - fv);
    double q = (x - v) * (fx - fw), p = (x - v) * q - (x - w) * r;
    q = 2 * (q - r);
    if (q > 0) p = -p;
    q = std::abs(q);
    if (!(p > q * (low - x) && p < q * (high - x) && std::abs(p) < std::abs(0.5 * q * former))) return false;
    taken = p / q;
    return true;
  }
  // The next point: by the parabola or a golden section, at least `near` from x.
  double propose(double near, double golden) {
    const double middle = 0.5 * (low + high);
    double taken = 0;
    const bool by_parabola = std::abs(former) > near && parabola(taken);
    if (by_parabola) {
      former = step, step = taken;
      const double u = x + taken;
      if (u - low < 2 * near || high - u < 2 * near) step = middle < x ? -near : near;
    } else {
      former = x >= middle ? low - x : high - x, step = golden * former;
    }
    return x + (step < 0 ? -1.0 : 1.0) * std::max(std::abs(step), near);
  }
  void take(double u, double fu) {
    if (fu <= fx) {
      (u >= x ? low : high) = x;
      v = w, fv = fw, w = x, fw = fx, x = u, fx = fu;
      return;
    }
    (u < x ? low : high) = u;
    if (fu <= fw || w == x)
      v = w, fv = fw, w = u, fw = fu;
    else if (fu <= fv || v == x || v == w)
      v = u, fv = fu;
  }
};

}  // namespace

Search<double> minimize_within(double low, double high, double tolerance) {
  const double golden = 0.5 * (3.0 - std::sqrt(5.0)), root_eps = std::sqrt(2.2e-16), start = low + golden * (high - low);
  BrentState s{.low = low, .high = high, .x = start, .w = start, .v = start, .fx = 0, .fw = 0, .fv = 0};
  s.fx = s.fw = s.fv = co_yield start;
  for (int calls = 1; calls < kMostCalls; ++calls) {
    const double near = root_eps * std::abs(s.x) + tolerance / 3;
    if (!(std::abs(s.x - 0.5 * (s.low + s.high)) > 2 * near - 0.5 * (s.high - s.low))) break;
    const double u = s.propose(near, golden);
    const double fu = co_yield u;
    s.take(u, fu);
  }
  co_return s.x;
}

Search<double> minimize_from(double first, double second, double tolerance) {
  constexpr double kGolden = 0.3819660, kLeast = 1e-11;
  Search<Bracket> search = bracket_from(first, second);
  while (!search.done()) {
    const double value = co_yield search.asked();
    search.tell(value);
  }
  const Bracket p = search.found();
  BrentState s{
      .low = std::min(p.a, p.c), .high = std::max(p.a, p.c), .x = p.b, .w = p.b, .v = p.b, .fx = p.fb, .fw = p.fb, .fv = p.fb};
  for (int calls = 0; calls < kMostCalls; ++calls) {
    const double near = tolerance * std::abs(s.x) + kLeast;
    if (std::abs(s.x - 0.5 * (s.low + s.high)) < 2 * near - 0.5 * (s.high - s.low)) break;
    const double u = s.propose(near, kGolden);
    const double fu = co_yield u;
    s.take(u, fu);
  }
  co_return s.x;
}

}  // namespace kedge::engine
