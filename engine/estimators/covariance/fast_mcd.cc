// FastMCD: concentration steps from random starts, on subsets first.
#include "engine/estimators/covariance/fast_mcd.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/legacy_random.h"
#include "engine/core/require.h"
#include "engine/estimators/centred_design.h"
#include "engine/estimators/covariance/covariance_estimators.h"
#include "engine/estimators/covariance/mcd_rows.h"
#include "engine/estimators/mixture/small_cholesky.h"
#include "engine/estimators/selection/tail_probabilities.h"

namespace kedge::engine {
namespace {

using Numbers = std::vector<double>;
using Rows = std::vector<std::int32_t>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kFewRows = 500, kSubsetRows = 300, kMergedRows = 1500, kTrials = 500;
constexpr int kQuickSteps = 2, kSteps = 30;
constexpr double kThreshold = 0.025;   // of the tail whose rows the last estimate leaves out

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// A location and a covariance with what judged them.
struct Estimate {
  Numbers location, covariance, distances;
  double log_det = kInfinity;
  Rows support;
};

// The factor F of an inverse F'F, and the log determinant of the matrix: -infinity where it is singular, F then being
// of the pseudo-inverse.
struct Inverse {
  Numbers factor;
  double log_det = -kInfinity;
};

Inverse inverse_of(const Context& ctx, const Numbers& S, std::int64_t d) {
  Numbers L(at(d * d)), M(at(d * d));
  if (lower_cholesky(S.data(), d, L.data())) {
    double log_det = 0;
    for (std::int64_t j = 0; j < d; ++j) log_det += 2 * std::log(L[at(j * (d + 1))]);
    invert_lower(L.data(), d, M.data());
    return {std::move(M), log_det};
  }
  return {symmetric_inverse_factor(ctx, S, d)};
}

Rows smallest(const Numbers& distances, std::int64_t count) {
  Rows order(distances.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    return distances[at(a)] < distances[at(b)] || (distances[at(a)] == distances[at(b)] && a < b);
  };
  std::nth_element(order.begin(), order.begin() + (count - 1), order.end(), before);
  order.resize(at(count));
  std::ranges::sort(order);
  return order;
}

// numpy.allclose.
bool is_close(double a, double b) {
  return a == b || (std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= 1e-8 + 1e-5 * std::abs(b));
}

// Concentration steps: the `h` rows that are nearest by the last estimate give the next, until the determinant does not
// fall. From an estimate, or from a random support.
Estimate concentrate(const Context& ctx, const McdRows& rows, std::int64_t h, int steps, const Estimate* from,
                     LegacyRandom& random) {
  const std::int64_t d = rows.d();
  Estimate now;
  if (from) {
    now.support = smallest(rows.distances(from->location, inverse_of(ctx, from->covariance, d).factor), h);
  } else {
    const std::vector<std::int64_t> order = random.permutation(rows.n());
    now.support.assign(order.begin(), order.begin() + h);
    std::ranges::sort(now.support);
  }
  rows.moments(now.support, now.location, now.covariance);
  Inverse inverse = inverse_of(ctx, now.covariance, d), used = inverse;
  now.log_det = inverse.log_det;
  Estimate before;
  before.log_det = kInfinity;
  while (now.log_det < before.log_det && steps > 0 && std::isfinite(now.log_det)) {
    ctx.check_stop();
    used = inverse;
    Numbers distances = rows.distances(now.location, used.factor);
    before = std::exchange(now, {});
    now.support = smallest(distances, h);
    before.distances = std::move(distances);
    rows.moments(now.support, now.location, now.covariance);
    inverse = inverse_of(ctx, now.covariance, d);
    now.log_det = inverse.log_det;
    --steps;
  }
  const bool is_worse = now.log_det > before.log_det && !is_close(now.log_det, before.log_det) && steps > 0;
  if (is_worse && !std::isinf(now.log_det)) return before;
  now.distances = rows.distances(now.location, used.factor);
  return now;
}

std::vector<Estimate> best_of(std::vector<Estimate> all, std::size_t count) {
  std::ranges::stable_sort(all, {}, &Estimate::log_det);
  all.resize(std::min(count, all.size()));
  return all;
}

std::vector<Estimate> from_random(const Context& ctx, const McdRows& rows, std::int64_t h, std::int64_t trials,
                                  std::size_t keep, LegacyRandom& random) {
  std::vector<Estimate> all;
  for (std::int64_t t = 0; t < trials; ++t) all.push_back(concentrate(ctx, rows, h, kQuickSteps, nullptr, random));
  return best_of(std::move(all), keep);
}

std::vector<Estimate> from_estimates(const Context& ctx, const McdRows& rows, std::int64_t h,
                                     const std::vector<Estimate>& starts, std::size_t keep, LegacyRandom& random) {
  std::vector<Estimate> all;
  for (const Estimate& start : starts) all.push_back(concentrate(ctx, rows, h, kSteps, &start, random));
  return best_of(std::move(all), keep);
}

Rows part(const std::vector<std::int64_t>& order, std::int64_t first, std::int64_t count) {
  return {order.begin() + first, order.begin() + first + count};
}

std::int64_t share_of(std::int64_t rows, std::int64_t h, std::int64_t n) {
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(rows) * (static_cast<double>(h) / static_cast<double>(n))));
}

Estimate of_many_rows(const Context& ctx, const DeviceMcdRows& rows, std::int64_t h, LegacyRandom& random) {
  const std::int64_t n = rows.n(), subsets = n / kSubsetRows, size = n / subsets;
  const std::vector<std::int64_t> order = random.permutation(n);
  std::vector<Estimate> starts;
  for (std::int64_t i = 0; i < subsets; ++i) {
    const HostMcdRows subset = rows.taken(part(order, i * size, size));
    for (Estimate& found :
         from_random(ctx, subset, share_of(size, h, n), std::max<std::int64_t>(10, kTrials / subsets), 10, random)) {
      found.distances.clear(), found.support.clear();
      starts.push_back(std::move(found));
    }
    ctx.progress("subsets", i + 1, subsets, "subsets");
  }
  const std::int64_t merged = std::min(kMergedRows, n);
  const Rows selection = part(random.permutation(n), 0, merged);
  const std::vector<Estimate> best =
      from_estimates(ctx, rows.taken(selection), share_of(merged, h, n), starts, n > kMergedRows ? 10 : 1, random);
  if (n >= kMergedRows) return from_estimates(ctx, rows, h, best, 1, random).front();
  Estimate all = best.front();   // whose rows are in the order of the selection
  Numbers distances(at(n), 0.0);
  for (std::int64_t i = 0; i < merged; ++i) distances[at(selection[at(i)])] = all.distances[at(i)];
  for (std::int32_t& row : all.support) row = selection[at(row)];
  all.distances = std::move(distances);
  return all;
}

// One column: the shortest half, by sorting.
Estimate of_one_column(const HostMcdRows& rows, const Numbers& values, std::int64_t h) {
  const std::int64_t n = rows.n();
  Estimate found{.location = {0}};
  if (h < n) {
    Numbers sorted = values;
    std::ranges::sort(sorted);
    double shortest = kInfinity;
    for (std::int64_t i = 0; i + h < n; ++i) shortest = std::min(shortest, sorted[at(i + h)] - sorted[at(i)]);
    double sum = 0, count = 0;
    for (std::int64_t i = 0; i + h < n; ++i)
      if (sorted[at(i + h)] - sorted[at(i)] == shortest) sum += sorted[at(i + h)] + sorted[at(i)], ++count;
    found.location[0] = 0.5 * sum / count;
  } else {
    found.location[0] = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  }
  Numbers distances;
  for (const double value : values) distances.push_back(std::abs(value - found.location[0]));
  found.support = smallest(distances, h);
  Numbers mean;
  rows.moments(found.support, mean, found.covariance);
  const double variance = found.covariance[0];
  for (double& distance : distances) distance = variance > 0 ? distance * distance / variance : 0;
  found.distances = std::move(distances);
  return found;
}

double chi_squared_quantile(double tail, double freedom) {
  if (tail <= 0) return kInfinity;
  double low = 0, high = 1;
  while (chi_squared_tail(freedom, high) > tail) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (chi_squared_tail(freedom, middle) > tail ? low : high) = middle;
  }
  return high;
}

// What makes the covariance of a share alpha of normal rows that of all: Croux and Haesbroeck, equation 4.2.
double consistency(std::int64_t d, double alpha) {
  const double freedom = static_cast<double>(d), quantile = chi_squared_quantile(1 - alpha, freedom);
  return alpha / (std::isinf(quantile) ? 1 : 1 - chi_squared_tail(freedom + 2, quantile));
}

// Sum of (x - 0)(x - 0)' over some rows, from their moments.
Numbers about_origin(const McdRows& rows, const Rows& support, Numbers origin) {
  Numbers mean, S;
  rows.moments(support, mean, S);
  const std::int64_t d = rows.d();
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < d; ++j)
      S[at(i * d + j)] += (mean[at(i)] - origin[at(i)]) * (mean[at(j)] - origin[at(j)]);
  return S;
}

std::vector<std::uint8_t> mask_of(const Rows& support, std::int64_t n) {
  std::vector<std::uint8_t> mask(at(n), 0);
  for (const std::int32_t row : support) mask[at(row)] = 1;
  return mask;
}

Estimate raw_estimate(const Context& ctx, const DeviceMcdRows& rows, std::int64_t h, LegacyRandom& random) {
  const std::int64_t n = rows.n();
  if (n > kFewRows && rows.d() > 1) return of_many_rows(ctx, rows, h, random);
  Rows all(at(n));
  std::iota(all.begin(), all.end(), 0);
  const HostMcdRows host = rows.taken(all);
  if (rows.d() == 1) return of_one_column(host, host.values(), h);
  const std::vector<Estimate> best = from_random(ctx, host, h, 30, 10, random);
  return from_estimates(ctx, host, h, best, 1, random).front();
}

}   // namespace

template <class T>
RobustCovariance fast_mcd(const Context& ctx, const char* owner, const Samples<T>& X, const McdOptions& options) {
  const std::int64_t n = X.n_rows(), d = X.n_cols();
  const Numbers centre = column_means(ctx, X);
  Matrix<double> values(ctx.memory(), n, d);
  const CentredDesign<T> centred(ctx, X, centre);
  ctx.ops<T>().design->gather(centred.design, 0, values.view());
  const DeviceMcdRows rows(ctx, std::as_const(values).view());
  const std::int64_t h = options.support_fraction
                             ? static_cast<std::int64_t>(*options.support_fraction * static_cast<double>(n))
                             : std::min(n, (n + d + 2) / 2);   // ceil((n + d + 1) / 2)
  require(h >= 1, schema::ErrorCode::kBadData, "{}: support_fraction leaves no row of {}", owner, n);
  LegacyRandom random(options.seed);
  Estimate raw = raw_estimate(ctx, rows, h, random);
  Numbers origin(centre.size(), 0.0);   // of the centred rows, where the data are said to be centred
  for (std::size_t j = 0; options.assume_centered && j < origin.size(); ++j) origin[j] = -centre[j];
  if (options.assume_centered) {
    raw.location = origin;
    raw.covariance = about_origin(rows, raw.support, origin);
    raw.distances = rows.distances(origin, inverse_of(ctx, raw.covariance, d).factor);
  }
  const bool is_null = std::ranges::all_of(raw.covariance, [](double value) { return std::abs(value) <= 1e-8; });
  require(h == n || !is_null, schema::ErrorCode::kBadData,
          "{}: the rows of the support are all equal; raise support_fraction", owner);
  RobustCovariance found{
      .raw_location = raw.location, .raw_covariance = raw.covariance, .raw_support = mask_of(raw.support, n)};
  const double correction = consistency(d, static_cast<double>(h) / static_cast<double>(n)),
               most = chi_squared_quantile(kThreshold, static_cast<double>(d));
  Rows near;
  for (std::int64_t i = 0; i < n; ++i)
    if (raw.distances[at(i)] / correction < most) near.push_back(static_cast<std::int32_t>(i));
  require(!near.empty(), schema::ErrorCode::kBadData,
          "{}: no row is near the location of the support; raise support_fraction or drop columns", owner);
  rows.moments(near, found.location, found.covariance);
  if (options.assume_centered) found.location = origin, found.covariance = about_origin(rows, near, origin);
  for (double& value : found.covariance) value *= consistency(d, 1 - kThreshold);
  found.precision = symmetric_inverse(ctx, found.covariance, d);
  found.support = mask_of(near, n);
  found.distances = rows.distances(found.location, inverse_of(ctx, found.covariance, d).factor);
  for (std::size_t j = 0; j < centre.size(); ++j) found.location[j] += centre[j], found.raw_location[j] += centre[j];
  return found;
}

template RobustCovariance fast_mcd(const Context&, const char*, const Samples<float>&, const McdOptions&);
template RobustCovariance fast_mcd(const Context&, const char*, const Samples<double>&, const McdOptions&);

}   // namespace kedge::engine
