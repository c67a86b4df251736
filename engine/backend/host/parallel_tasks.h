// parallel_tasks(): runs independent tasks on a few threads and hands the first error to the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/core/first_error.h"

namespace kedge::engine {

// Calls work(task, worker) once for each task in [0, n); worker in [0, n_threads) names the thread, 0 being the caller's. Tasks
// are handed out in order. After an exception no further task starts, and the first exception is thrown here.
template <class Work>
void parallel_tasks(int n_threads, std::int64_t n, const Work& work) {
  std::atomic<std::int64_t> next{0};
  FirstError error;
  const auto run = [&](int worker) {
    for (std::int64_t task; (task = next.fetch_add(1)) < n;) error.run([&] { work(task, worker); });
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (int worker = 1; worker < n_threads && worker < n; ++worker) helpers.emplace_back(run, worker);
    } catch (const std::system_error&) {   // no memory for another stack: those that are there do all of it
    }
    run(0);
  }
  error.rethrow();
}

}  // namespace kedge::engine
