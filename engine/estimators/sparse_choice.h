// When a transformer that could make either leaves its result sparse.
#pragma once

#include <cstdint>

namespace kedge::engine {

// Small results are dense: faster, and as always. Sparse ones must take less than half of the space, in values, columns and offsets.
inline bool is_better_sparse(std::int64_t rows, std::int64_t cols, std::int64_t entries, std::int64_t value_bytes) {
  constexpr double kSmall = 64 << 20;   // bytes
  const double dense = static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(value_bytes);
  const double sparse = static_cast<double>(entries) * static_cast<double>(value_bytes + 4) + static_cast<double>(rows + 1) * 8;
  return dense >= kSmall && sparse < dense / 2;
}

}  // namespace kedge::engine
