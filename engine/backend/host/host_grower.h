// Grows trees of every kind on the host, for every device: values or weighted classes, best or random cuts, on bins or on ranks.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// What the rows are cut by; borrowed, host memory. Either bytes, both by column and by row, or ranks by column.
struct HostColumns {
  std::int64_t n_table = 0, n_cols = 0;
  const BinEdges* edges = nullptr;
  const std::uint8_t *codes = nullptr, *row_codes = nullptr;
  std::int64_t row_stride = 0;
  const std::uint32_t* ranks = nullptr;   // n_cols x n_table: position of the cell's value among those of its column
};

struct HostForestInput {
  HostColumns columns;
  const std::int32_t* rows;   // of the table; null: all of them
  std::int64_t n_rows;
  TreeTarget target;          // its codes on the host as well
  const ForestOptions& options;
  std::stop_token stop;
};

// Whether the CPU's grower of classes, which knows neither weights of rows nor random cuts, has to leave this forest to grow_on_host().
bool needs_host_grower(const TreeTarget& target, const ForestOptions& options);

// The same forest at any number of threads, and for every device. Errors: kCancelled; those of draw_rows().
Forest grow_on_host(const HostForestInput& input, int n_threads, const TreeProgress& progress);

// The forest of all rows of X (host memory) with best cuts: ranks its columns, then grows. Errors: kBadData without rows or columns, or for NaN.
template <class T>
Forest grow_exact_on_host(MatrixView<const T> X, const TreeTarget& target, const ForestOptions& options, std::stop_token stop, int n_threads);

}  // namespace kedge::engine
