// The same steps as LIBSVM's, so that the probabilities are the same.
#include "engine/estimators/svm/platt.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/core/legacy_random.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

double probability(double z) {
  return z >= 0 ? std::exp(-z) / (1 + std::exp(-z)) : 1 / (1 + std::exp(z));
}

// - log likelihood.
double loss(const std::vector<double>& decisions, const std::vector<double>& targets, const Sigmoid& s) {
  double sum = 0;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const double z = decisions[i] * s.A + s.B;
    sum += z >= 0 ? targets[i] * z + std::log(1 + std::exp(-z)) : (targets[i] - 1) * z + std::log(1 + std::exp(z));
  }
  return sum;
}

struct Slopes {
  double h11 = 1e-12, h22 = 1e-12, h21 = 0, g1 = 0, g2 = 0;   // of the loss in A and B
};

Slopes slopes(const std::vector<double>& decisions, const std::vector<double>& targets, const Sigmoid& s) {
  Slopes all;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const double f = decisions[i], p = probability(f * s.A + s.B), curve = p * (1 - p), slope = targets[i] - p;
    all.h11 += f * f * curve, all.h22 += curve, all.h21 += f * curve;
    all.g1 += f * slope, all.g2 += slope;
  }
  return all;
}

}   // namespace

double Sigmoid::operator()(double decision) const {
  constexpr double kLeast = 1e-7;
  return std::clamp(probability(decision * A + B), kLeast, 1 - kLeast);
}

Sigmoid fit_sigmoid(const std::vector<double>& decisions, const std::vector<signed char>& labels) {
  constexpr int kMostSteps = 100;
  constexpr double kFlat = 1e-5, kLeastStep = 1e-10, kOfSlope = 1e-4;
  const auto positive = static_cast<double>(std::ranges::count_if(labels, [](signed char y) { return y > 0; }));
  const double negative = static_cast<double>(labels.size()) - positive;
  std::vector<double> targets;
  for (const signed char y : labels) targets.push_back(y > 0 ? (positive + 1) / (positive + 2) : 1 / (negative + 2));
  Sigmoid now{0, std::log((negative + 1) / (positive + 1))};
  double value = loss(decisions, targets, now);
  for (int step = 0; step < kMostSteps; ++step) {
    check_job_stop();
    const Slopes s = slopes(decisions, targets, now);
    if (std::abs(s.g1) < kFlat && std::abs(s.g2) < kFlat) break;
    const double det = s.h11 * s.h22 - s.h21 * s.h21;
    const double dA = -(s.h22 * s.g1 - s.h21 * s.g2) / det, dB = -(-s.h21 * s.g1 + s.h11 * s.g2) / det;
    const double slope = s.g1 * dA + s.g2 * dB;
    double size = 1;
    for (; size >= kLeastStep; size /= 2) {
      const Sigmoid next{now.A + size * dA, now.B + size * dB};
      const double there = loss(decisions, targets, next);
      if (!(there < value + kOfSlope * size * slope)) continue;
      now = next, value = there;
      break;
    }
    if (size < kLeastStep) break;
  }
  return now;
}

std::vector<double> couple_pairs(const std::vector<double>& r, std::size_t k) {
  const std::size_t most = std::max<std::size_t>(100, k);
  const double enough = 0.005 / static_cast<double>(k);
  std::vector<double> p(k, 1 / static_cast<double>(k)), Q(k * k, 0.0), Qp(k);
  for (std::size_t t = 0; t < k; ++t)
    for (std::size_t j = 0; j < k; ++j) {
      if (j == t) continue;
      Q[t * k + t] += r[j * k + t] * r[j * k + t];
      Q[t * k + j] = t < j ? -r[j * k + t] * r[t * k + j] : Q[j * k + t];
    }
  for (std::size_t step = 0; step < most; ++step) {
    double pQp = 0, worst = 0;
    for (std::size_t t = 0; t < k; ++t) {
      Qp[t] = 0;
      for (std::size_t j = 0; j < k; ++j) Qp[t] += Q[t * k + j] * p[j];
      pQp += p[t] * Qp[t];
    }
    for (const double value : Qp) worst = std::max(worst, std::abs(value - pQp));
    if (worst < enough) break;
    for (std::size_t t = 0; t < k; ++t) {
      const double diff = (-Qp[t] + pQp) / Q[t * k + t];
      p[t] += diff;
      pQp = (pQp + diff * (diff * Q[t * k + t] + 2 * Qp[t])) / (1 + diff) / (1 + diff);
      for (std::size_t j = 0; j < k; ++j) {
        Qp[j] = (Qp[j] + diff * Q[t * k + j]) / (1 + diff);
        p[j] /= 1 + diff;
      }
    }
  }
  return p;
}

std::vector<std::int64_t> fold_order(std::uint32_t seed, std::int64_t n) {
  LegacyRandom random(seed);
  const auto below = [&](std::uint32_t range) {   // Lemire's method: the high half of a product, without its bias
    std::uint64_t product = std::uint64_t{random.next()} * range;
    if (static_cast<std::uint32_t>(product) < range)
      for (const std::uint32_t least = (0U - range) % range; static_cast<std::uint32_t>(product) < least;)
        product = std::uint64_t{random.next()} * range;
    return static_cast<std::int64_t>(product >> 32);
  };
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = 0; i < n; ++i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(i + below(static_cast<std::uint32_t>(n - i)))]);
  return order;
}

}   // namespace kedge::engine
