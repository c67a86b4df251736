// Adding up what tiles have summed.
#include "engine/backend/cuda/sums.cuh"

#include "engine/core/array.h"

namespace kedge::engine {
namespace {

__global__ void add_tables(const double* tables, std::int64_t n_tables, std::int64_t entries, double* total) {
  const std::int64_t e = own_item();
  if (e >= entries) return;
  double sum = 0;
  for (std::int64_t t = 0; t < n_tables; ++t) sum += tables[t * entries + e];
  total[e] = sum;
}

__global__ void sum_tiles(const double* values, std::int64_t n, std::int64_t tiles, double* sums) {
  const std::int64_t tile = own_item();
  if (tile >= tiles) return;
  double sum = 0;
  for (std::int64_t i = tile * kRowTile; i < n && i < (tile + 1) * kRowTile; ++i) sum += values ? values[i] : 1.0;
  sums[tile] = sum;
}

}  // namespace

void sum_tables(CudaRuntime& runtime, const double* tables, std::int64_t n_tables, std::int64_t entries, double* total) {
  KEDGE_LAUNCH(runtime, add_tables, blocks_for(entries, 128), 128, 0, tables, n_tables, entries, total);
}

void sum_values(CudaRuntime& runtime, const double* values, std::int64_t n, double* total) {
  const std::int64_t tiles = tiles_of(n, kRowTile);
  Array<double> sums(runtime, tiles);
  KEDGE_LAUNCH(runtime, sum_tiles, blocks_for(tiles, 64), 64, 0, values, n, tiles, sums.data());
  sum_tables(runtime, sums.data(), tiles, 1, total);
}

}  // namespace kedge::engine
