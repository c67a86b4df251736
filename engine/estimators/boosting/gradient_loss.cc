// Losses of exact gradient boosting, row by row on the host.
#include "engine/estimators/boosting/gradient_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kedge::engine {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kLeastCurvature = 1e-150;   // of a leaf: below, it adds nothing

double logistic(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

// scikit-learn's formula, to the bit.
double negative_slope(double y, double raw) {
  constexpr double kFar = -37;
  if (!(raw > kFar)) return y - std::exp(raw);
  const double e = std::exp(-raw);
  return -(((1 - y) - y * e) / (1 + e));
}

// SciPy's, to the bit.
double logit(double x) {
  if (x < 0.3 || x > 0.65) return std::log(x / (1 - x));
  const double s = 2 * (x - 0.5);
  return std::log1p(s) - std::log1p(-s);
}

// The sum in numpy's order, so that leaves have scikit-learn's bits and equal cuts of later trees are chosen alike.
double pairwise_sum(const double* values, std::size_t n) {
  constexpr std::size_t kLanes = 8, kBlock = 128;
  if (n < kLanes) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i];
    return sum;
  }
  if (n > kBlock) {
    const std::size_t half = n / 2 - n / 2 % kLanes;
    return pairwise_sum(values, half) + pairwise_sum(values + half, n - half);
  }
  double r[kLanes];
  std::copy_n(values, kLanes, r);
  std::size_t i = kLanes;
  for (; i < n - n % kLanes; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) r[l] += values[i + l];
  double sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (; i < n; ++i) sum += values[i];
  return sum;
}

double average(std::vector<double> values, const std::vector<double>& weights) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= weights[i];
  return pairwise_sum(values.data(), values.size()) / pairwise_sum(weights.data(), weights.size());
}

double log1p_exp(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// numpy's percentile: linear between neighbours.
double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, values.size() - 1);
  const double part = place - static_cast<double>(below), step = values[above] - values[below];
  return part >= 0.5 ? values[above] - step * (1 - part) : values[below] + step * part;
}

double quantile(std::span<const double> y, std::span<const double> weights, bool has_weights, double share) {
  if (!has_weights) return percentile({y.begin(), y.end()}, share);
  return weighted_percentile({y.begin(), y.end()}, {weights.begin(), weights.end()}, share);
}

}   // namespace

double weighted_percentile(std::vector<double> values, const std::vector<double>& weights, double share) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> sums(values.size());
  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) sums[i] = sum += weights[order[i]];
  double wanted = share * sum;
  if (wanted == 0) wanted = std::nextafter(0.0, 1.0);
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(sums, wanted) - sums.begin());
  return values[order[std::min(at, values.size() - 1)]];
}

std::vector<double> StageLoss::first_predictions(std::span<const double> y, std::span<const double> weights,
                                                 bool has_weights) const {
  switch (kind) {
    case GradientLoss::kAbsolute:
    case GradientLoss::kHuber:
      return {quantile(y, weights, has_weights, 0.5)};
    case GradientLoss::kQuantile:
      return {quantile(y, weights, has_weights, alpha)};
    case GradientLoss::kSquared:
      return {average({y.begin(), y.end()}, {weights.begin(), weights.end()})};
    default:
      break;
  }
  std::vector<double> shares(static_cast<std::size_t>(std::max<std::int64_t>(n_outputs, 2)), 0.0);
  double weight = 0;
  for (std::size_t i = 0; i < y.size(); ++i) shares[static_cast<std::size_t>(y[i])] += weights[i], weight += weights[i];
  for (double& share : shares) share = std::clamp(share / weight, kEps, 1 - kEps);
  if (kind == GradientLoss::kMultinomial) {
    double mean = 0;
    for (double& share : shares) mean += share = std::log(share);
    for (double& share : shares) share -= mean / static_cast<double>(n_outputs);
    return shares;
  }
  const double log_odds = logit(shares[1]);
  return {kind == GradientLoss::kExponential ? log_odds / 2 : log_odds};
}

void StageLoss::set_delta(std::span<const double> y, std::span<const double> raw, std::span<const double> weights) {
  if (kind != GradientLoss::kHuber) return;
  std::vector<double> errors(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) errors[i] = std::abs(y[i] - raw[i]);
  delta = weighted_percentile(std::move(errors), {weights.begin(), weights.end()}, alpha);
}

void StageLoss::negative_gradient(std::span<const double> y, std::span<const double> raw, std::int64_t begin,
                                  std::int64_t end, std::span<double> slopes) const {
  const std::size_t n = y.size();
  for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
    const double error = y[i] - raw[i];
    switch (kind) {
      case GradientLoss::kSquared:
        slopes[i] = error;
        break;
      case GradientLoss::kAbsolute:
        slopes[i] = raw[i] > y[i] ? -1 : 1;
        break;
      case GradientLoss::kHuber:
        slopes[i] = std::abs(error) <= delta ? error : error > 0 ? delta : -delta;
        break;
      case GradientLoss::kQuantile:
        slopes[i] = y[i] >= raw[i] ? alpha : alpha - 1;
        break;
      case GradientLoss::kBinomial:
        slopes[i] = negative_slope(y[i], raw[i]);
        break;
      case GradientLoss::kExponential:
        slopes[i] = y[i] > 0 ? 1 / std::exp(raw[i]) : -std::exp(raw[i]);
        break;
      case GradientLoss::kMultinomial: {
        double top = raw[i], sum = 0;
        for (std::size_t k = 1; k < static_cast<std::size_t>(n_outputs); ++k) top = std::max(top, raw[k * n + i]);
        for (std::size_t e = i; e < raw.size(); e += n) sum += slopes[e] = std::exp(raw[e] - top);
        for (std::size_t k = 0; k < static_cast<std::size_t>(n_outputs); ++k)
          slopes[k * n + i] = (y[i] == static_cast<double>(k) ? 1.0 : 0.0) - slopes[k * n + i] / sum;
        break;
      }
    }
  }
}

double StageLoss::row_loss(std::size_t i, std::span<const double> y, std::span<const double> raw) const {
  const std::size_t n = y.size();
  const double error = y[i] - raw[i], size = std::abs(error);
  switch (kind) {
    case GradientLoss::kSquared:
      return error * error;
    case GradientLoss::kAbsolute:
      return size;
    case GradientLoss::kHuber:
      return size <= delta ? size * size / 2 : delta * (size - delta / 2);
    case GradientLoss::kQuantile:
      return error >= 0 ? alpha * error : (1 - alpha) * size;
    case GradientLoss::kBinomial:
      return 2 * (log1p_exp(raw[i]) - y[i] * raw[i]);
    case GradientLoss::kExponential:
      return std::exp(y[i] > 0 ? -raw[i] : raw[i]);
    case GradientLoss::kMultinomial:
      break;
  }
  double top = raw[i], sum = 0;
  for (std::size_t e = i; e < raw.size(); e += n) top = std::max(top, raw[e]);
  for (std::size_t e = i; e < raw.size(); e += n) sum += std::exp(raw[e] - top);
  return top + std::log(sum) - raw[static_cast<std::size_t>(y[i]) * n + i];
}

// One step of Newton's method for classes, the best constant for values.
double StageLoss::leaf_value(std::int64_t k, std::span<const std::uint32_t> rows, std::span<const double> y,
                             std::span<const double> raw, std::span<const double> slopes,
                             std::span<const double> weights) const {
  const std::size_t first = static_cast<std::size_t>(k) * y.size();
  std::vector<double> own(rows.size()), terms(rows.size()), curvatures;
  for (std::size_t r = 0; r < rows.size(); ++r) own[r] = weights[rows[r]];
  if (kind == GradientLoss::kBinomial || kind == GradientLoss::kMultinomial || kind == GradientLoss::kExponential) {
    curvatures.resize(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double target =
          kind == GradientLoss::kMultinomial ? (y[rows[r]] == static_cast<double>(k) ? 1.0 : 0.0) : y[rows[r]];
      const double d = slopes[first + rows[r]], share = target - d;
      terms[r] = d, curvatures[r] = kind == GradientLoss::kExponential ? std::abs(d) : share * (1 - share);
    }
    double slope = average(std::move(terms), own);
    const double curvature = average(std::move(curvatures), own);
    if (kind == GradientLoss::kMultinomial)
      slope *= static_cast<double>(n_outputs - 1) / static_cast<double>(n_outputs);
    return std::abs(curvature) < kLeastCurvature ? 0.0 : slope / curvature;
  }
  for (std::size_t r = 0; r < rows.size(); ++r) terms[r] = y[rows[r]] - raw[first + rows[r]];
  const double middle = weighted_percentile(terms, own, kind == GradientLoss::kQuantile ? alpha : 0.5);
  if (kind != GradientLoss::kHuber) return middle;
  for (double& term : terms) term = std::clamp(term - middle, -delta, delta);
  return middle + average(std::move(terms), own);
}

void StageLoss::to_shares(std::vector<double>& raw) const {
  if (kind != GradientLoss::kMultinomial) {
    for (double& value : raw) value = logistic(kind == GradientLoss::kExponential ? 2 * value : value);
    return;
  }
  const std::size_t n = raw.size() / static_cast<std::size_t>(n_outputs);
  for (std::size_t i = 0; i < n; ++i) {
    double top = raw[i], sum = 0;
    for (std::size_t e = i; e < raw.size(); e += n) top = std::max(top, raw[e]);
    for (std::size_t e = i; e < raw.size(); e += n) sum += raw[e] = std::exp(raw[e] - top);
    for (std::size_t e = i; e < raw.size(); e += n) raw[e] /= sum;
  }
}

}   // namespace kedge::engine
