// See calibration_curves.h.
#include "engine/estimators/meta/calibration_curves.h"

#include <algorithm>
#include <cmath>

namespace kedge::engine {
namespace {

constexpr int kMostSteps = 200;
constexpr double kSmallGradient = 1e-12;   // relative to the sum of weights

double weight_at(std::span<const double> weights, std::size_t i) {
  return weights.empty() ? 1.0 : weights[i];
}

// log(1 + exp(z)) without overflow.
double log1pexp(double z) {
  return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
}
double sigmoid(double z) {
  return z > 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
}

// Scores with their targets and weights, and the loss of p = sigmoid(-(a s + b)).
struct Problem {
  std::vector<double> scores, targets;
  std::span<const double> weights;

  double loss(double a, double b) const {
    double sum = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double z = a * scores[i] + b;
      sum += weight_at(weights, i) * (log1pexp(z) - (1 - targets[i]) * z);
    }
    return sum;
  }
};

struct Step {
  double a = 0, b = 0, slope = 0;   // Newton's step, and the loss's slope along it
};

Step newton_step(const Problem& problem, double a, double b) {
  double ga = 0, gb = 0, haa = 1e-300, hab = 0, hbb = 1e-300;
  for (std::size_t i = 0; i < problem.scores.size(); ++i) {
    const double s = problem.scores[i], w = weight_at(problem.weights, i), q = sigmoid(a * s + b);   // q = 1 - p
    const double d = w * (q - (1 - problem.targets[i])), h = w * q * (1 - q);
    ga += d * s, gb += d;
    haa += h * s * s, hab += h * s, hbb += h;
  }
  const double ridge = 1e-12 * (haa + hbb), det = (haa + ridge) * (hbb + ridge) - hab * hab;
  const double da = -((hbb + ridge) * ga - hab * gb) / det, db = -((haa + ridge) * gb - hab * ga) / det;
  return {.a = da, .b = db, .slope = ga * da + gb * db};
}

}   // namespace

SigmoidCurve SigmoidCurve::fitted(std::span<const double> scores, const std::vector<bool>& is_second,
                                  std::span<const double> weights) {
  double largest = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    largest = std::max(largest, std::abs(scores[i]));
    (is_second[i] ? second : first) += weight_at(weights, i);
  }
  const double scale = largest > 0 ? largest : 1;   // which does not change the curve
  Problem problem{.weights = weights};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    problem.scores.push_back(scores[i] / scale);
    problem.targets.push_back(is_second[i] ? (second + 1) / (second + 2) : 1 / (first + 2));
  }
  double a = 0, b = std::log((first + 1) / (second + 1)), loss = problem.loss(a, b);
  for (int i = 0; i < kMostSteps; ++i) {
    const Step step = newton_step(problem, a, b);
    if (!(step.slope < -kSmallGradient * kSmallGradient * (first + second))) break;
    double length = 1, next = problem.loss(a + step.a, b + step.b);
    while (!(next <= loss + 1e-4 * length * step.slope) && length > 1e-10) {
      length /= 2;
      next = problem.loss(a + length * step.a, b + length * step.b);
    }
    if (!(next < loss)) break;
    a += length * step.a, b += length * step.b, loss = next;
  }
  return {.a = a / scale, .b = b};
}

double SigmoidCurve::at(double score) const {
  return sigmoid(-(a * score + b));
}

namespace {

// The sum over rows of the log loss of softmax(beta z), and its slope along log(beta), by weight.
struct TemperatureLoss {
  std::span<const double> logits;
  std::span<const std::int32_t> codes;
  std::span<const double> weights;
  std::size_t k;

  double slope(double beta) const {
    double sum = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::span<const double> row = logits.subspan(i * k, k);
      const double largest = *std::ranges::max_element(row), own = row[static_cast<std::size_t>(codes[i])];
      if (!std::isfinite(own)) continue;   // of no beta
      double shares = 0, mean = 0;
      for (const double z : row) {
        if (!std::isfinite(z)) continue;
        const double share = std::exp(beta * (z - largest));
        shares += share, mean += share * (z - largest);
      }
      sum += weight_at(weights, i) * (mean / shares - (own - largest));
    }
    return sum;   // d loss / d beta, which has the same sign
  }
};

}   // namespace

// The loss is convex in beta, so its slope changes its sign at most once.
Temperature Temperature::fitted(std::span<const double> logits, std::span<const std::int32_t> codes,
                                std::span<const double> weights, std::int64_t n_classes) {
  constexpr double kWidest = 10, kNarrow = 1e-14;   // of log(beta)
  const TemperatureLoss loss{logits, codes, weights, static_cast<std::size_t>(n_classes)};
  if (loss.slope(1) == 0) return {};   // no row says anything, or 1 is best
  double low = -kWidest, high = kWidest;
  while (high - low > kNarrow * kWidest) {
    const double middle = low + (high - low) / 2;
    (loss.slope(std::exp(middle)) > 0 ? high : low) = middle;
  }
  return {.beta = std::exp(low + (high - low) / 2)};
}

void Temperature::shares(std::span<const double> logits, std::span<double> shares) const {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (std::size_t c = 0; c < logits.size(); ++c) sum += shares[c] = std::exp(beta * (logits[c] - largest));
  for (double& share : shares) share /= sum;
}

}   // namespace kedge::engine
