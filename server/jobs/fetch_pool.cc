// Threads for work that blocks: see fetch_pool.h.
#include "server/jobs/fetch_pool.h"

#include <system_error>

namespace kedge::server {

FetchPool::FetchPool(std::size_t max_threads) : max_threads_(max_threads) {
  threads_.reserve(max_threads_);
  start_thread();
}

FetchPool::~FetchPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();   // joins
}

void FetchPool::run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  changed_.notify_one();
  if (waiting_.size() <= idle_ || threads_.size() == max_threads_) return;
  try {
    start_thread();
  } catch (const std::system_error&) {   // then there are as many as the system allows
  }
}

void FetchPool::start_thread() {
  threads_.emplace_back([this](std::stop_token stop) { loop(stop); });
}

void FetchPool::loop(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, stop, [this] { return !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace kedge::server
