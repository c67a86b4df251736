// Waking handlers.
#include "server/http/peer.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>

namespace kedge::server::http {

void Bell::ring() {
  std::lock_guard lock(mutex_);
  if (pending_ || !notify_) return;
  pending_ = true;
  notify_();
}

void Bell::answered() {
  std::lock_guard lock(mutex_);
  pending_ = false;
}

void Bell::close() {
  std::lock_guard lock(mutex_);
  notify_ = nullptr;
}

std::shared_ptr<Peer> Peer::make(net::any_io_executor loop, net::thread_pool& pool,
                                 std::function<void()> watch) {
  std::shared_ptr<Peer> peer(new Peer(loop, pool, std::move(watch)));
  peer->bell_ = std::make_shared<Bell>([loop, weak = std::weak_ptr(peer)] {
    net::post(loop, [weak] {
      if (auto alive = weak.lock()) {
        alive->bell_->answered();
        alive->wake();
      }
    });
  });
  return peer;
}

Peer::Peer(net::any_io_executor loop, net::thread_pool& pool, std::function<void()> watch)
    : pool_(pool), timer_(loop), watch_(std::move(watch)) {}

Peer::~Peer() {
  bell_->close();
}

void Peer::set_gone() {
  gone_ = true;
  wake();
}

void Peer::set_stopping() {
  stopping_ = true;
  wake();
}

void Peer::wake() {
  rung_ = true;
  timer_.cancel();
}

net::awaitable<void> Peer::wait_until(Clock::time_point until) {
  if (watch_) std::exchange(watch_, nullptr)();
  if (!rung_) {
    timer_.expires_at(until);
    co_await timer_.async_wait(net::as_tuple(net::use_awaitable));
  }
  rung_ = false;
}

}  // namespace kedge::server::http
