// Waking handlers.
#include "server/http/peer.h"

namespace kedge::server::http {

void Bell::ring() noexcept {
  const std::lock_guard lock(mutex_);
  if (alarm_) alarm_->ring();
}

void Bell::close() {
  const std::lock_guard lock(mutex_);
  alarm_.reset();
}

std::shared_ptr<Peer> Peer::make(net::any_io_executor loop, net::thread_pool& pool,
                                 std::function<void()> watch) {
  return std::shared_ptr<Peer>(new Peer(std::move(loop), pool, std::move(watch)));
}

Peer::Peer(net::any_io_executor loop, net::thread_pool& pool, std::function<void()> watch)
    : pool_(pool), watch_(std::move(watch)), bell_(std::make_shared<Bell>(std::move(loop))) {}

Peer::~Peer() {
  bell_->close();
}

void Peer::set_gone() {
  gone_ = true;
  bell_->ring();
}

void Peer::set_stopping() {
  stopping_ = true;
  bell_->ring();
}

net::awaitable<void> Peer::wait_until(Clock::time_point until) {
  if (watch_) std::exchange(watch_, nullptr)();
  return bell_->alarm().wait_until(until);
}

}  // namespace kedge::server::http
