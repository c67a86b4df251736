// Sparse rows in host memory while a vectoriser makes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/context.h"
#include "engine/core/csr.h"

namespace kedge::engine::text {

// As CsrMatrix: entries of row i at offsets[i] to offsets[i + 1], columns ascending.
template <class V>
struct HostRows {
  std::int64_t cols = 0;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<V> values;

  std::int64_t rows() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  CsrMatrix<V> to_device(const Context& ctx) const {
    return CsrMatrix<V>(ctx.memory(), cols, std::span<const std::int64_t>(offsets),
                        std::span<const std::int32_t>(columns), std::span<const V>(values));
  }
};

}   // namespace kedge::engine::text
