// Loops over the rows of a table: in parallel, and in tiles that do not depend on the number of threads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/backend/cpu/exact_tables.h"
#include "engine/backend/functors.h"
#include "engine/backend/raw.h"
#include "engine/core/first_error.h"
#include "engine/core/view.h"

namespace kedge::engine {

// While it lives, OpenBLAS and LAPACK run on the calling thread alone: results do not depend on the number of threads.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;

 private:
  int before_;
};

// Work shorter than this stays on the calling thread. Waking the others takes microseconds on an idle machine, but on a busy
// one the last of them comes when the scheduler lets it: tens of milliseconds.
inline constexpr std::int64_t kSerialNs = 100'000;

// body(tile, begin, end) for each tile of [0, n), in any order, on all threads if that pays; cost_ns is about what all
// of it takes one thread. Throws the first exception of body. Looks between tiles whether the job is to stop; a body
// whose tile can take longer than 50 ms looks itself (check_job_stop). OpenBLAS runs on the thread that calls it.
template <class Body>
void for_tiles(std::int64_t n, std::int64_t tile_size, std::int64_t cost_ns, Body&& body) {
  const std::int64_t tiles = tiles_of(n, tile_size);
  if (tiles <= 1 || cost_ns < kSerialNs) {
    const OneThread one;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      check_job_stop();
      body(tile, tile * tile_size, std::min(n, (tile + 1) * tile_size));
    }
    return;
  }
  FirstError error;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t tile = 0; tile < tiles; ++tile)
    error.run([&] { body(tile, tile * tile_size, std::min(n, (tile + 1) * tile_size)); });
  error.rethrow();
}

inline constexpr std::int64_t kLongRowNs = 1000;   // a tile of such rows is looked into between rows

// body(i) for every row i < n, in about row_ns each, on all threads if that pays. Rows do not depend on each other, so
// a batch of a network, which is one tile of others, has some.
template <class Body>
void for_rows(std::int64_t n, std::int64_t row_ns, Body&& body) {
  const std::int64_t tile_size = std::clamp<std::int64_t>(n / 16, 1, kRowTile);
  for_tiles(n, tile_size, n * row_ns, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (row_ns >= kLongRowNs) check_job_stop();
      body(i);
    }
  });
}

template <class T>
std::int64_t selected(MatrixView<const T> X, VectorView<const std::int32_t> rows) {
  return rows.empty() ? X.rows : rows.size;
}

template <class T>
const T* row_at(MatrixView<const T> X, VectorView<const std::int32_t> rows, std::int64_t i) {
  return raw(X) + (rows.empty() ? i : std::int64_t{raw(rows)[i]}) * X.stride;
}

// Sum of the tiles' sums, which is sum(begin, end) for rows begin .. end - 1; row_ns is about what one row takes.
template <class Sum>
double tile_sums(std::int64_t n, std::int64_t row_ns, Sum&& sum) {
  std::vector<double> sums(static_cast<std::size_t>(tiles_of(n, kRowTile)), 0.0);
  for_tiles(n, kRowTile, n * row_ns, [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
    sums[static_cast<std::size_t>(tile)] = sum(begin, end);
  });
  double total = 0;
  add_tables(sums.data(), static_cast<std::int64_t>(sums.size()), 1, &total);
  return total;
}

// Sum of value(i), i < n; row_ns is about what one value takes.
template <class Value>
double tile_sum(std::int64_t n, std::int64_t row_ns, Value&& value) {
  return tile_sums(n, row_ns, [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += value(i);
    return sum;
  });
}

// A table of `entries` sums over rows for each tile, one behind the other: add(i, table) adds row i in about row_ns.
template <class Add>
std::vector<double> tile_tables(std::int64_t n, std::int64_t entries, std::int64_t tile_size, std::int64_t row_ns,
                                Add&& add) {
  std::vector<double> tables(static_cast<std::size_t>(tiles_of(n, tile_size) * entries), 0.0);
  for_tiles(n, tile_size, n * row_ns, [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (row_ns >= kLongRowNs || i % kRowTile == 0) check_job_stop();
      add(i, tables.data() + tile * entries);
    }
  });
  return tables;
}

// The exact sums of these tables.
template <class Add>
std::vector<double> tile_table_sums(std::int64_t n, std::int64_t entries, std::int64_t tile_size, std::int64_t row_ns,
                                    Add&& add) {
  const std::vector<double> tables = tile_tables(n, entries, tile_size, row_ns, add);
  std::vector<double> sums(static_cast<std::size_t>(entries), 0.0);
  add_tables(tables.data(), tiles_of(n, tile_size), entries, sums.data());
  return sums;
}

}  // namespace kedge::engine
