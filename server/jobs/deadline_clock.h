// Calls a function when a job has taken too long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace kedge::server {

// One deadline for each job. Thread safe; costs nothing while no deadline is near.
class DeadlineClock {
 public:
  using Clock = std::chrono::steady_clock;

  // `reached` is called on a thread of this object, with no lock of it held, once for each deadline that passes.
  explicit DeadlineClock(std::function<void(const std::string& job)> reached);
  ~DeadlineClock();   // a call in progress has ended when it returns

  void set(const std::string& job, Clock::time_point at);   // in place of the one before; max(): none

 private:
  void loop(std::stop_token stop);

  const std::function<void(const std::string&)> reached_;
  std::mutex mutex_;   // guards what follows
  std::condition_variable_any changed_;
  std::map<std::string, Clock::time_point> times_;
  std::set<std::pair<Clock::time_point, std::string>> order_;
  Clock::time_point wakes_at_ = Clock::time_point::max();   // when the thread looks next: only an earlier deadline wakes it
  std::jthread thread_;
};

}  // namespace kedge::server
