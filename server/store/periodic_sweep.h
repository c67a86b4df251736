// A thread that calls a function at each interval, and at once when its options change.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace kedge::server {

// `Options` has a member `interval`. Thread safe. A sweep that throws is tried again at the next interval.
template <class Options>
class PeriodicSweep {
 public:
  PeriodicSweep(Options options, std::function<void()> sweep)
      : sweep_(std::move(sweep)), options_(std::move(options)), thread_([this](std::stop_token stop) { loop(stop); }) {}

  void set_options(Options options) {
    {
      const std::lock_guard lock(mutex_);
      options_ = std::move(options), changed_ = true;
    }
    wake_.notify_one();
  }

  Options options() const {
    const std::lock_guard lock(mutex_);
    return options_;
  }

 private:
  void loop(std::stop_token stop) {
    while (!stop.stop_requested()) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, stop, options_.interval, [this] { return changed_; });
        changed_ = false;
      }
      if (stop.stop_requested()) return;
      try {
        sweep_();
      } catch (const std::exception&) {   // the disk fails, which readiness reports, or memory is short
      }
    }
  }

  const std::function<void()> sweep_;
  mutable std::mutex mutex_;   // guards the next two
  Options options_;
  bool changed_ = false;
  std::condition_variable_any wake_;
  std::jthread thread_;   // last: it uses the others
};

}   // namespace kedge::server
