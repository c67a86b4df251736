// Threads for work that blocks: see fetch_pool.h.
#include "server/jobs/fetch_pool.h"

namespace kedge::server {

FetchPool::~FetchPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();   // joins
}

void FetchPool::run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  if (waiting_.size() > idle_ && threads_.size() < max_threads_)
    threads_.emplace_back([this](std::stop_token stop) { loop(stop); });
  else
    changed_.notify_one();
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
