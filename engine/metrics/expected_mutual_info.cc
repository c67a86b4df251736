// Sums over hypergeometric distributions.
#include "engine/metrics/expected_mutual_info.h"
#include "engine/core/first_error.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kedge::engine {
namespace {

// Terms below this share of the largest one are left out; they fall faster than a geometric series.
constexpr double kNegligible = 1e-25;

// The overlap k of clusters of a and b rows out of n, drawn at random.
struct Overlap {
  double a, b, n;
  double mean() const { return a * b / n; }
  // k log(k / mean) - (k - mean): the mean of what is taken away is 0, and what is left is never negative, so nothing cancels.
  double information(double k) const {
    const double x = (k - mean()) / mean();
    return k == 0 ? mean() : mean() * ((1 + x) * std::log1p(x) - x);
  }
  double ratio_up(double k) const { return (a - k) * (b - k) / ((k + 1) * (n - a - b + k + 1)); }   // p(k + 1) / p(k)
};

// Mean of k log(k n / (a b)), which is k log(k / mean).
double mean_information(std::int64_t a, std::int64_t b, std::int64_t n) {
  const Overlap overlap{static_cast<double>(a), static_cast<double>(b), static_cast<double>(n)};
  const std::int64_t lowest = std::max<std::int64_t>(0, a + b - n), highest = std::min(a, b);
  const auto mode = static_cast<std::int64_t>((overlap.a + 1) * (overlap.b + 1) / (overlap.n + 2));
  const std::int64_t start = std::clamp(mode, lowest, highest);
  double total = 0, sum = 0;
  const auto add = [&](std::int64_t k, double term) {
    total += term;
    sum += term * overlap.information(static_cast<double>(k));
  };
  add(start, 1);
  double term = 1;
  for (std::int64_t k = start; k < highest && term > kNegligible; ++k) add(k + 1, term *= overlap.ratio_up(static_cast<double>(k)));
  term = 1;
  for (std::int64_t k = start; k > lowest && term > kNegligible; --k) add(k - 1, term /= overlap.ratio_up(static_cast<double>(k - 1)));
  return sum / total;
}

}  // namespace

double expected_mutual_information(std::span<const std::int64_t> sizes_a, std::span<const std::int64_t> sizes_b, std::int64_t n_rows) {
  const auto n_a = static_cast<std::int64_t>(sizes_a.size());
  std::vector<double> by_a(sizes_a.size());
  FirstError error;
#pragma omp parallel for schedule(dynamic) if (sizes_a.size() * sizes_b.size() > 64)
  for (std::int64_t i = 0; i < n_a; ++i) {
    error.run([&] {
      double sum = 0;
      for (std::int64_t b : sizes_b) sum += mean_information(sizes_a[static_cast<std::size_t>(i)], b, n_rows);
      by_a[static_cast<std::size_t>(i)] = sum;
    });
  }
  error.rethrow();
  double sum = 0;
  for (double value : by_a) sum += value;
  return sum / static_cast<double>(n_rows);
}

}  // namespace kedge::engine
