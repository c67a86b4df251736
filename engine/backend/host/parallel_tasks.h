// parallel_tasks(): runs independent tasks on a few threads and hands the first error to the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kedge::engine {

// Calls work(task, worker) once for each task in [0, n); worker in [0, n_threads) names the thread, 0 being the caller's. Tasks
// are handed out in order. After an exception no further task starts, and the first exception is thrown here.
template <class Work>
void parallel_tasks(int n_threads, std::int64_t n, const Work& work) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto run = [&](int worker) {
    try {
      for (std::int64_t task; (task = next.fetch_add(1)) < n;) work(task, worker);
    } catch (...) {
      next = n;
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int worker = 1; worker < n_threads && worker < n; ++worker) helpers.emplace_back(run, worker);
    run(0);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace kedge::engine
