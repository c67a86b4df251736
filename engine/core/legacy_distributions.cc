// Normal and binomial numbers and samples as numpy's RandomState and scikit-learn draw them, operation by operation.
#include "engine/core/legacy_distributions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace kedge::engine {
namespace {

constexpr double kMostInverted = 30;   // n p up to which numpy inverts the distribution

std::int64_t by_inversion(LegacyRandom& random, std::int64_t n, double p) {
  const double q = 1.0 - p, count = static_cast<double>(n), mean = count * p;
  const double first = std::exp(count * std::log(q));
  const auto bound = static_cast<std::int64_t>(std::min(count, mean + 10.0 * std::sqrt(mean * q + 1)));
  std::int64_t x = 0;
  double share = first, u = random.uniform();
  while (u > share) {
    if (++x > bound) {
      x = 0, share = first, u = random.uniform();
    } else {
      u -= share;
      share = (static_cast<double>(n - x + 1) * p * share) / (static_cast<double>(x) * q);
    }
  }
  return x;
}

// The algorithm BTPE: a triangle, a parallelogram and two exponential tails above the distribution.
class Btpe {
 public:
  Btpe(std::int64_t n, double p) : n_(n), r_(p), q_(1.0 - p) {
    const double count = static_cast<double>(n), fm = count * r_ + r_;
    m_ = static_cast<std::int64_t>(std::floor(fm));
    p1_ = std::floor(2.195 * std::sqrt(count * r_ * q_) - 4.6 * q_) + 0.5;
    xm_ = static_cast<double>(m_) + 0.5, xl_ = xm_ - p1_, xr_ = xm_ + p1_;
    c_ = 0.134 + 20.5 / (15.3 + static_cast<double>(m_));
    double a = (fm - xl_) / (fm - xl_ * r_);
    left_ = a * (1.0 + a / 2.0);
    a = (xr_ - fm) / (xr_ * q_);
    right_ = a * (1.0 + a / 2.0);
    p2_ = p1_ * (1.0 + 2.0 * c_), p3_ = p2_ + c_ / left_, p4_ = p3_ + c_ / right_;
  }

  std::int64_t draw(LegacyRandom& random) const {
    for (;;) {
      const double u = random.uniform() * p4_;
      double v = random.uniform();
      if (u <= p1_) return static_cast<std::int64_t>(std::floor(xm_ - p1_ * v + u));
      std::int64_t y = 0;
      if (propose(u, v, y) && accept(v, y)) return y;
    }
  }

 private:
  // A number of the part that u chooses, with v brought to its scale; false to draw again.
  bool propose(double u, double& v, std::int64_t& y) const {
    if (u <= p2_) {
      const double x = xl_ + (u - p1_) / c_;
      v = v * c_ + 1.0 - std::fabs(static_cast<double>(m_) - x + 0.5) / p1_;
      y = static_cast<std::int64_t>(std::floor(x));
      return v <= 1.0;
    }
    if (v == 0.0) return false;
    if (u <= p3_) {
      y = static_cast<std::int64_t>(std::floor(xl_ + std::log(v) / left_));
      v = v * (u - p2_) * left_;
      return y >= 0;
    }
    y = static_cast<std::int64_t>(std::floor(xr_ - std::log(v) / right_));
    v = v * (u - p3_) * right_;
    return y <= n_;
  }

  bool accept(double v, std::int64_t y) const {
    const double nrq = static_cast<double>(n_) * r_ * q_;
    const auto k = static_cast<double>(std::abs(y - m_));
    if (!(k > 20 && k < nrq / 2.0 - 1)) return v <= ratio(y);
    const double rho = (k / nrq) * ((k * (k / 3.0 + 0.625) + 0.16666666666666666) / nrq + 0.5), t = -k * k / (2 * nrq);
    const double log_v = std::log(v);
    if (log_v < t - rho) return true;
    if (log_v > t + rho) return false;
    return log_v <= bound(static_cast<double>(y));
  }

  // The share of y, that of the mode being 1.
  double ratio(std::int64_t y) const {
    const double s = r_ / q_, a = s * static_cast<double>(n_ + 1);
    double f = 1.0;
    for (std::int64_t i = m_ + 1; i <= y; ++i) f *= a / static_cast<double>(i) - s;
    for (std::int64_t i = y + 1; i <= m_; ++i) f /= a / static_cast<double>(i) - s;
    return f;
  }

  // The logarithm of that, by Stirling's formula.
  double bound(double y) const {
    const double n = static_cast<double>(n_), m = static_cast<double>(m_);
    const double x1 = y + 1, f1 = m + 1, z = n + 1 - m, w = n - y + 1;
    const auto tail = [](double x) {
      const double square = x * x;
      return (13680. - (462. - (132. - (99. - 140. / square) / square) / square) / square) / x / 166320.;
    };
    return xm_ * std::log(f1 / x1) + (n - m + 0.5) * std::log(z / w) + (y - m) * std::log(w * r_ / (x1 * q_)) +
           tail(f1) + tail(z) + tail(x1) + tail(w);
  }

  std::int64_t n_, m_ = 0;
  double r_, q_, p1_ = 0, p2_ = 0, p3_ = 0, p4_ = 0, xm_ = 0, xl_ = 0, xr_ = 0, c_ = 0, left_ = 0, right_ = 0;
};

std::vector<std::int64_t> by_tracking(LegacyRandom& random, std::int64_t n, std::int64_t size) {
  std::unordered_set<std::int64_t> seen;
  std::vector<std::int64_t> drawn;
  while (static_cast<std::int64_t>(drawn.size()) < size) {
    const auto i = static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(n - 1)));
    if (seen.insert(i).second) drawn.push_back(i);
  }
  return drawn;
}

std::vector<std::int64_t> by_reservoir(LegacyRandom& random, std::int64_t n, std::int64_t size) {
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(size));
  std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
  for (std::int64_t i = size; i < n; ++i)
    if (const std::uint64_t j = random.interval(static_cast<std::uint64_t>(i)); j < drawn.size()) drawn[j] = i;
  return drawn;
}

}   // namespace

double LegacyNormal::operator()(LegacyRandom& random) {
  if (kept_) return *std::exchange(kept_, std::nullopt);
  double x = 0, y = 0, square = 0;
  do {
    x = 2.0 * random.uniform() - 1.0;
    y = 2.0 * random.uniform() - 1.0;
    square = x * x + y * y;
  } while (square >= 1.0 || square == 0.0);
  const double factor = std::sqrt(-2.0 * std::log(square) / square);
  kept_ = factor * x;
  return factor * y;
}

std::int64_t legacy_binomial(LegacyRandom& random, std::int64_t n, double p) {
  if (n == 0 || p == 0) return 0;
  const double least = p <= 0.5 ? p : 1.0 - p;
  const std::int64_t drawn =
      least * static_cast<double>(n) <= kMostInverted ? by_inversion(random, n, least) : Btpe(n, least).draw(random);
  return p <= 0.5 ? drawn : n - drawn;
}

std::vector<std::int64_t> legacy_sample(LegacyRandom& random, std::int64_t n, std::int64_t size) {
  const double ratio = n > 0 ? static_cast<double>(size) / static_cast<double>(n) : 1.0;
  if (ratio > 0.01 && ratio < 0.99) {
    std::vector<std::int64_t> drawn = random.permutation(n);
    drawn.resize(static_cast<std::size_t>(size));
    return drawn;
  }
  return ratio < 0.2 ? by_tracking(random, n, size) : by_reservoir(random, n, size);
}

}   // namespace kedge::engine
