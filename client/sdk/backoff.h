// How long to wait before trying again: exponential back-off with full jitter, so that clients that failed together do not return
// together.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>

namespace kedge {

// One for each call. Not thread safe.
class Backoff {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds kFirst{100}, kLongest{5'000}, kLongestAsked{60'000};

  explicit Backoff(unsigned seed = std::random_device{}()) : random_(seed) {}

  // Uniform over 0 .. min(longest, first * 2^n) for the n-th pause; after the time that the server named, if it named
  // one.
  milliseconds next(std::optional<milliseconds> asked = {}) {
    const milliseconds bound = std::min(kLongest, kFirst * (1 << std::min(tries_++, 10)));
    const milliseconds jitter(std::uniform_int_distribution<milliseconds::rep>(0, bound.count())(random_));
    return jitter + std::min(asked.value_or(milliseconds(0)), kLongestAsked);
  }
  void reset() { tries_ = 0; }

  // False when it was stopped.
  static bool sleep(milliseconds pause, std::stop_token stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, pause, [] { return false; });
    return !stop.stop_requested();
  }

 private:
  int tries_ = 0;
  std::mt19937 random_;
};

// How long a stream that breaks is taken up again: for the given time from its first break on. An attempt that lasted longer than
// that was whole, though nothing came, and the time counts anew. Not thread safe.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Patience(Clock::duration bound) : bound_(bound) {}

  // An attempt that began at `begun` broke at `now`: whether it is time to give up.
  bool ended(Clock::time_point begun, Clock::time_point now) {
    if (!has_broken_ || now - begun > bound_) first_break_ = now;
    has_broken_ = true;
    return now - first_break_ > bound_;
  }

 private:
  Clock::duration bound_;
  bool has_broken_ = false;
  Clock::time_point first_break_;
};

}  // namespace kedge
