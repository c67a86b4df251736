// Loops over rows, or over tasks, on the threads of the ops, for host code that every device shares.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "engine/core/first_error.h"

namespace kedge::engine {

// Work shorter than this stays on the calling thread: to wake another one costs microseconds, on a busy machine more.
inline constexpr std::int64_t kAloneNs = 40'000;

// body(task) for each task of [0, n), in any order, on all threads if that pays; cost_ns is about what all of it takes
// one thread. Throws the first exception of body; looks between tasks whether the job is to stop.
template <class Body>
void for_tasks(std::int64_t n, std::int64_t cost_ns, const Body& body) {
  if (n <= 1 || cost_ns < kAloneNs || omp_get_max_threads() == 1) {
    for (std::int64_t task = 0; task < n; ++task) body(task);
    return;
  }
  FirstError error;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t task = 0; task < n; ++task) error.run([&] { body(task); });
  error.rethrow();
}

inline constexpr std::int64_t kRowChunk = 4096;
inline std::int64_t row_chunks(std::int64_t n) {
  return (n + kRowChunk - 1) / kRowChunk;
}

// body(chunk, begin, end) for each chunk of rows [0, n); the chunks do not depend on the number of threads.
template <class Body>
void for_row_chunks(std::int64_t n, std::int64_t row_ns, const Body& body) {
  for_tasks(row_chunks(n), n * row_ns,
            [&](std::int64_t chunk) { body(chunk, chunk * kRowChunk, std::min(n, (chunk + 1) * kRowChunk)); });
}

}   // namespace kedge::engine
