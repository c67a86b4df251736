// Waking coroutines: an operation that waits has its memory already, and cancelling it moves it.
#include "server/http/alarm.h"

#include <boost/asio/as_tuple.hpp>

namespace kedge::server::http {

void Alarm::ring() noexcept {
  const std::lock_guard lock(mutex_);
  rung_ = true;
  timer_.cancel();
}

net::awaitable<void> Alarm::wait_until(Clock::time_point until) {
  // Begun under the lock: a ring comes before, and is seen, or after, and finds what it has to end.
  auto begin = [this, until](auto handler) {
    const std::lock_guard lock(mutex_);
    timer_.expires_at(rung_ ? Clock::time_point::min() : until);
    timer_.async_wait(std::move(handler));
  };
  constexpr auto token = net::as_tuple(net::use_awaitable);
  auto wait = net::async_initiate<decltype(token), void(boost::system::error_code)>(std::move(begin), token);
  co_await std::move(wait);
  const std::lock_guard lock(mutex_);
  rung_ = false;
}

}   // namespace kedge::server::http
