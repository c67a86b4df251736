// Wakes one waiting coroutine from any thread; waking needs no memory, so that it works when there is none.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <mutex>

#include "server/http/net.h"

namespace kedge::server::http {

// Waits on the loop of its executor, one waiter at a time; ring() comes from anywhere.
class Alarm {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Alarm(net::any_io_executor loop) : timer_(std::move(loop)) {}

  void ring() noexcept;
  // Returns at `until`, or when it was rung since the last wait.
  net::awaitable<void> wait_until(Clock::time_point until);
  net::any_io_executor executor() { return timer_.get_executor(); }

 private:
  std::mutex mutex_;   // guards all, the timer too, which is for one thread at a time
  net::steady_timer timer_;
  bool rung_ = false;
};

}   // namespace kedge::server::http
