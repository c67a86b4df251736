// Wakes the dispatcher when a job has taken too long: see deadline_clock.h.
#include "server/jobs/deadline_clock.h"

#include "engine/core/memory_reserve.h"

namespace kedge::server {

DeadlineClock::DeadlineClock(std::function<void(const std::string&)> reached)
    : reached_(std::move(reached)), thread_([this](std::stop_token stop) { loop(stop); }) {}

DeadlineClock::~DeadlineClock() = default;

void DeadlineClock::set(const std::string& job, Clock::time_point at) {
  const std::lock_guard lock(mutex_);
  if (const auto old = times_.find(job); old != times_.end()) {
    order_.erase({old->second, job});
    times_.erase(old);
  }
  if (at == Clock::time_point::max()) return;
  times_[job] = at;
  order_.emplace(at, job);
  if (order_.begin()->second == job) changed_.notify_one();   // it is the next now
}

void DeadlineClock::loop(std::stop_token stop) {
  const engine::UsesReserve reserve;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (order_.empty()) {
      changed_.wait(lock, stop, [this] { return !order_.empty(); });
      continue;
    }
    const auto [at, job] = *order_.begin();
    if (Clock::now() < at) {
      changed_.wait_until(lock, stop, at, [this, at = at] { return order_.empty() || order_.begin()->first < at; });
      continue;
    }
    order_.erase(order_.begin());
    times_.erase(job);
    lock.unlock();
    reached_(job);
    lock.lock();
  }
}

}  // namespace kedge::server
