// Sums and weighted means over rows. Rows are added in fixed blocks, so the number of threads does not change a bit of the result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/simd.h"
#include "engine/core/require.h"

namespace kedge::engine {

constexpr std::int64_t kSumBlock = 4096;
constexpr std::int64_t kSumThreadRows = 1 << 16;   // fewer rows are summed faster than threads wake up

// Sum of term(i), i < n; term is called from several threads.
template <class Term>
double row_sum(std::int64_t n, const Term& term) {
  const std::int64_t n_blocks = (n + kSumBlock - 1) / kSumBlock;
  std::vector<double> partial(static_cast<std::size_t>(n_blocks));
#pragma omp parallel for schedule(static) if (n >= kSumThreadRows)
  for (std::int64_t b = 0; b < n_blocks; ++b) {
    const std::int64_t first = b * kSumBlock, rows = std::min(kSumBlock, n - first);
    partial[static_cast<std::size_t>(b)] = lane_sum(rows, [&](std::int64_t i) { return term(first + i); });
  }
  double sum = 0;
  for (double value : partial) sum += value;
  return sum;
}

// Sum of weights[i] * term(i); no weights mean 1.
template <class Term>
double weighted_sum(std::int64_t n, std::span<const double> weights, const Term& term) {
  if (weights.empty()) return row_sum(n, term);
  return row_sum(n, [&](std::int64_t i) { return weights[static_cast<std::size_t>(i)] * term(i); });
}

inline double total_weight(std::int64_t n, std::span<const double> weights) {
  if (weights.empty()) return static_cast<double>(n);
  return row_sum(n, [&](std::int64_t i) { return weights[static_cast<std::size_t>(i)]; });
}

// Errors: kBadData if the weights sum to 0.
template <class Term>
double weighted_mean(const char* metric, std::int64_t n, std::span<const double> weights, const Term& term) {
  const double total = total_weight(n, weights);
  require(total != 0, schema::ErrorCode::kBadData, "{}: the sample weights of the {} rows sum to 0", metric, n);
  return weighted_sum(n, weights, term) / total;
}

}  // namespace kedge::engine
