// Threads for work that blocks: data sets are fetched here, so that a slow download holds up nothing else.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kedge::server {

// Grows to `max_threads` when every thread is busy, as far as the system gives threads. Thread safe.
class FetchPool {
 public:
  explicit FetchPool(std::size_t max_threads);   // starts one thread
  ~FetchPool();   // finishes what runs and what waits

  void run(std::function<void()> work);   // `work` must not throw

 private:
  void start_thread();
  void loop(std::stop_token stop);

  const std::size_t max_threads_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace kedge::server
