// Calls a function when a job has taken too long: see deadline_clock.h.
#include "server/jobs/deadline_clock.h"

#include "engine/core/memory_reserve.h"

namespace kedge::server {
namespace {

constexpr std::chrono::hours kIdle(1);   // between looks at an empty clock

}   // namespace

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
  if (at >= wakes_at_) return;   // it is seen then
  wakes_at_ = at;
  changed_.notify_one();
}

void DeadlineClock::loop(std::stop_token stop) {
  const engine::UsesReserve reserve;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const Clock::time_point now = Clock::now(), next = order_.empty() ? now + kIdle : order_.begin()->first;
    if (now < next) {
      wakes_at_ = next;
      changed_.wait_until(lock, stop, next, [&] { return wakes_at_ < next; });
      continue;
    }
    const std::string job = order_.begin()->second;
    order_.erase(order_.begin());
    times_.erase(job);
    lock.unlock();
    reached_(job);
    lock.lock();
  }
}

}  // namespace kedge::server
