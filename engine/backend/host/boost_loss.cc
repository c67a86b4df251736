// The losses of boosting (scikit-learn's _loss, "half" losses): formulas over chunks of rows that become vectors.
#include "engine/backend/host/boost_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/backend/host/row_chunks.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kRowNs = 6;

// Derivatives of rows: first and second, for one output.
struct Rows {
  const double *y, *raw;
  double *gradient, *hessian;
  std::int64_t n;
};

template <class Derivatives>
inline __attribute__((always_inline)) void put_derivatives(const Rows& r, const Derivatives& of) {
  for (std::int64_t i = 0; i < r.n; ++i) {
    const BoostDerivatives d = of(r.raw[i], r.y[i]);
    r.gradient[i] = d.gradient, r.hessian[i] = d.hessian;
  }
}
KEDGE_CLONES void binomial_rows(Rows r) {
  put_derivatives(r, [](double x, double y) __attribute__((always_inline)) { return binomial_derivatives(x, y); });
}
KEDGE_CLONES void poisson_rows(Rows r) {
  put_derivatives(r, [](double x, double y) __attribute__((always_inline)) { return poisson_derivatives(x, y); });
}
KEDGE_CLONES void gamma_rows(Rows r) {
  put_derivatives(r, [](double x, double y) __attribute__((always_inline)) { return gamma_derivatives(x, y); });
}
void squared_rows(Rows r) {
  for (std::int64_t i = 0; i < r.n; ++i) r.gradient[i] = r.raw[i] - r.y[i];
}
void absolute_rows(Rows r) {
  for (std::int64_t i = 0; i < r.n; ++i) r.gradient[i] = r.raw[i] > r.y[i] ? 1 : -1;
}
void quantile_rows(Rows r, double quantile) {
  for (std::int64_t i = 0; i < r.n; ++i) r.gradient[i] = r.y[i] >= r.raw[i] ? -quantile : 1 - quantile;
}

// Shares of classes of rows begin .. begin + n - 1, output by output: softmax of their raw predictions. out[k *
// kRowChunk + i].
KEDGE_CLONES void softmax_rows(const double* raw, std::int64_t n_rows, std::int32_t n_outputs, std::int64_t n,
                               double* out) {
  double top[kRowChunk], sum[kRowChunk];
  for (std::int64_t i = 0; i < n; ++i) top[i] = raw[i], sum[i] = 0;
  for (std::int32_t k = 1; k < n_outputs; ++k)
    for (std::int64_t i = 0; i < n; ++i) top[i] = raw[k * n_rows + i] > top[i] ? raw[k * n_rows + i] : top[i];
  for (std::int32_t k = 0; k < n_outputs; ++k)
    for (std::int64_t i = 0; i < n; ++i) sum[i] += out[k * kRowChunk + i] = vector_exp(raw[k * n_rows + i] - top[i]);
  for (std::int32_t k = 0; k < n_outputs; ++k)
    for (std::int64_t i = 0; i < n; ++i) out[k * kRowChunk + i] /= sum[i];
}

void multinomial_rows(const BoostTarget& target, std::int64_t begin, std::int64_t n, const double* raw,
                      double* gradients, double* hessians) {
  const std::int64_t n_rows = target.n_rows();
  std::vector<double> shares(static_cast<std::size_t>(target.n_outputs * kRowChunk));
  softmax_rows(raw + begin, n_rows, target.n_outputs, n, shares.data());
  for (std::int32_t k = 0; k < target.n_outputs; ++k) {
    const double* const share = shares.data() + k * kRowChunk;
    double *const g = gradients + k * n_rows + begin, *const h = hessians + k * n_rows + begin;
    const double* const y = target.y.data() + begin;
    for (std::int64_t i = 0; i < n; ++i) {
      const BoostDerivatives d = multinomial_derivatives(share[i], y[i] == k);
      g[i] = d.gradient, h[i] = d.hessian;
    }
  }
}

void weigh(const BoostTarget& target, std::int64_t begin, std::int64_t n, double* gradients, double* hessians) {
  const double* const w = target.weights.data() + begin;
  for (std::int32_t k = 0; k < target.n_outputs; ++k) {
    double *const g = gradients + k * target.n_rows() + begin, *const h = hessians + k * target.n_rows() + begin;
    for (std::int64_t i = 0; i < n; ++i) g[i] *= w[i];
    if (target.is_flat()) std::copy_n(w, n, h);
    else
      for (std::int64_t i = 0; i < n; ++i) h[i] *= w[i];
  }
}

// Losses of n rows; the loss is known when the loop is compiled, so that it becomes vectors.
template <BoostLoss kLoss>
inline __attribute__((always_inline)) void put_losses(double quantile, const double* y, const double* raw,
                                                      std::int64_t n, double* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = boost_row_loss(kLoss, quantile, 1, y[i], raw + i, 0);
}
KEDGE_CLONES void row_losses(BoostLoss loss, double quantile, const double* y, const double* raw, std::int64_t n,
                             double* out) {
  switch (loss) {
    case BoostLoss::kSquared:
      return put_losses<BoostLoss::kSquared>(quantile, y, raw, n, out);
    case BoostLoss::kAbsolute:
      return put_losses<BoostLoss::kAbsolute>(quantile, y, raw, n, out);
    case BoostLoss::kQuantile:
      return put_losses<BoostLoss::kQuantile>(quantile, y, raw, n, out);
    case BoostLoss::kPoisson:
      return put_losses<BoostLoss::kPoisson>(quantile, y, raw, n, out);
    case BoostLoss::kGamma:
      return put_losses<BoostLoss::kGamma>(quantile, y, raw, n, out);
    case BoostLoss::kBinomial:
      return put_losses<BoostLoss::kBinomial>(quantile, y, raw, n, out);
    case BoostLoss::kMultinomial:
      break;
  }
}

// The same of several classes: the operations of boost_row_loss(), class by class.
KEDGE_CLONES void class_losses(const double* y, const double* raw, std::int64_t n_rows, std::int32_t n_outputs,
                               std::int64_t n, double* out) {
  double top[kRowChunk], sum[kRowChunk];
  for (std::int64_t i = 0; i < n; ++i) top[i] = raw[i], sum[i] = 0;
  for (std::int32_t k = 1; k < n_outputs; ++k)
    for (std::int64_t i = 0; i < n; ++i) top[i] = raw[k * n_rows + i] > top[i] ? raw[k * n_rows + i] : top[i];
  for (std::int32_t k = 0; k < n_outputs; ++k)
    for (std::int64_t i = 0; i < n; ++i) sum[i] += vector_exp(raw[k * n_rows + i] - top[i]);
  for (std::int64_t i = 0; i < n; ++i) sum[i] = vector_log(sum[i]);
  for (std::int64_t i = 0; i < n; ++i) out[i] = sum[i] + top[i] - raw[static_cast<std::int64_t>(y[i]) * n_rows + i];
}

double weighted_mean(std::span<const double> values, std::span<const double> weights) {
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double w = weights.empty() ? 1 : weights[i];
    sum += w * values[i], total += w;
  }
  return sum / total;
}

// Linear between the two nearest, as numpy.percentile; reorders the values.
double quantile_of(std::vector<double>& values, double share) {
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  if (below + 1 == values.size()) return *at;
  const double low = *at, high = *std::min_element(at + 1, values.end()), part = position - static_cast<double>(below);
  return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

// The first value, ascending, at which the weights up to it reach the share of all.
double weighted_quantile_of(const std::vector<double>& values, std::span<const double> weights, double share) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (total == 0) return 0;
  const double wanted = std::max(share * total, std::numeric_limits<double>::min());
  double reached = 0;
  for (const std::size_t i : order)
    if ((reached += weights[i]) >= wanted) return values[i];
  return values[order.back()];
}

// Mean shares of the classes, away from 0 and 1.
std::vector<double> class_shares(const BoostTarget& t) {
  std::vector<double> sums(static_cast<std::size_t>(std::max(2, t.n_outputs)));
  double total = 0;
  for (std::size_t i = 0; i < t.y.size(); ++i) {
    const double w = t.weights.empty() ? 1 : t.weights[i];
    sums[static_cast<std::size_t>(t.y[i])] += w, total += w;
  }
  constexpr double kLeast = 10 * std::numeric_limits<double>::epsilon();
  for (double& sum : sums) sum = std::clamp(sum / total, kLeast, 1 - kLeast);
  return sums;
}

}   // namespace

void boost_gradients(const BoostTarget& target, const std::vector<double>& raw, std::vector<double>& gradients,
                     std::vector<double>& hessians) {
  for_row_chunks(target.n_rows(), kRowNs * target.n_outputs, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    double *const g = gradients.data(), *const h = hessians.data();
    const Rows rows{target.y.data() + begin, raw.data() + begin, g + begin, h + begin, end - begin};
    switch (target.loss) {
      case BoostLoss::kSquared:
        squared_rows(rows);
        break;
      case BoostLoss::kAbsolute:
        absolute_rows(rows);
        break;
      case BoostLoss::kQuantile:
        quantile_rows(rows, target.quantile);
        break;
      case BoostLoss::kPoisson:
        poisson_rows(rows);
        break;
      case BoostLoss::kGamma:
        gamma_rows(rows);
        break;
      case BoostLoss::kBinomial:
        binomial_rows(rows);
        break;
      case BoostLoss::kMultinomial:
        multinomial_rows(target, begin, end - begin, raw.data(), g, h);
        break;
    }
    if (!target.weights.empty()) weigh(target, begin, end - begin, g, h);
  });
}

double boost_loss(const BoostTarget& target, const std::vector<double>& raw) {
  constexpr std::int64_t kLossNs = 20;
  const std::int64_t n = target.n_rows();
  std::vector<double> sums(static_cast<std::size_t>(row_chunks(n)));
  for_row_chunks(n, kLossNs * target.n_outputs, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    double losses[kRowChunk];
    const double* const y = target.y.data() + begin;
    if (target.loss == BoostLoss::kMultinomial)
      class_losses(y, raw.data() + begin, n, target.n_outputs, end - begin, losses);
    else row_losses(target.loss, target.quantile, y, raw.data() + begin, end - begin, losses);
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i)
      sum += losses[i - begin] * (target.weights.empty() ? 1 : target.weights[static_cast<std::size_t>(i)]);
    sums[static_cast<std::size_t>(chunk)] = sum;
  });
  const double total = target.weights.empty() ? static_cast<double>(n)
                                              : std::accumulate(target.weights.begin(), target.weights.end(), 0.0);
  return std::accumulate(sums.begin(), sums.end(), 0.0) / total;
}

std::vector<double> boost_baseline(const BoostTarget& target) {
  switch (target.loss) {
    case BoostLoss::kSquared:
      return {weighted_mean(target.y, target.weights)};
    case BoostLoss::kPoisson:
    case BoostLoss::kGamma:
      return {std::log(std::max(weighted_mean(target.y, target.weights), 10 * std::numeric_limits<double>::epsilon()))};
    case BoostLoss::kAbsolute:
    case BoostLoss::kQuantile: {
      std::vector<double> values(target.y.begin(), target.y.end());
      return {boost_residual(target, values, target.weights)};
    }
    case BoostLoss::kBinomial: {
      const double share = class_shares(target)[1];
      return {std::log(share / (1 - share))};
    }
    case BoostLoss::kMultinomial:
      break;
  }
  std::vector<double> logs = class_shares(target);
  for (double& share : logs) share = std::log(share);
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
  for (double& log : logs) log -= mean;
  return logs;
}

double boost_residual(const BoostTarget& target, std::vector<double>& residuals, std::span<const double> weights) {
  const double share = target.loss == BoostLoss::kAbsolute ? 0.5 : target.quantile;
  return weights.empty() ? quantile_of(residuals, share) : weighted_quantile_of(residuals, weights, share);
}

KEDGE_CLONES static void exp_all(double* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = vector_exp(values[i]);
}
KEDGE_CLONES static void logistic_all(double* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = values[i], e = vector_exp(x < 0 ? x : -x), inverse = 1 / (1 + e);
    values[i] = x < 0 ? e * inverse : inverse;
  }
}

void boost_link(BoostLoss loss, std::int32_t n_outputs, std::span<double> raw) {
  const std::int64_t n = static_cast<std::int64_t>(raw.size()) / n_outputs;
  if (loss == BoostLoss::kSquared || loss == BoostLoss::kAbsolute || loss == BoostLoss::kQuantile) return;
  for_row_chunks(n, kRowNs * n_outputs, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    if (loss == BoostLoss::kBinomial) return logistic_all(raw.data() + begin, end - begin);
    if (loss != BoostLoss::kMultinomial) return exp_all(raw.data() + begin, end - begin);
    std::vector<double> shares(static_cast<std::size_t>(n_outputs * kRowChunk));
    softmax_rows(raw.data() + begin, n, n_outputs, end - begin, shares.data());
    for (std::int32_t k = 0; k < n_outputs; ++k)
      std::copy_n(shares.data() + k * kRowChunk, end - begin, raw.data() + k * n + begin);
  });
}

}   // namespace kedge::engine
