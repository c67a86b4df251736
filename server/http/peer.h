// The client at the other end, as a handler that takes its time needs to know it.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "server/http/net.h"

namespace kedge::server::http {

// Rings a waiting handler from any thread, at any time. It is shared: by the Peer, and by whoever rings, who
// may outlive the connection; after that ring() does nothing.
class Bell {
 public:
  explicit Bell(std::function<void()> notify) : notify_(std::move(notify)) {}
  void ring();
  void answered();  // on the loop: the next ring() notifies again
  void close();

 private:
  std::mutex mutex_;
  std::function<void()> notify_;
  bool pending_ = false;
};

// Lives on the loop's thread, as all of http does; only the bell may be touched elsewhere. One waiter at a
// time.
class Peer : public std::enable_shared_from_this<Peer> {
 public:
  using Clock = std::chrono::steady_clock;

  // `watch` is called at the first wait: from then on somebody has to notice that the client goes.
  static std::shared_ptr<Peer> make(net::any_io_executor loop, net::thread_pool& pool,
                                    std::function<void()> watch);
  ~Peer();

  bool gone() const { return gone_; }          // the client closed the connection
  bool stopping() const { return stopping_; }  // the server is stopping: come to an end
  void set_gone();
  void set_stopping();

  net::any_io_executor executor() { return timer_.get_executor(); }
  const std::shared_ptr<Bell>& bell() const { return bell_; }
  // Returns at `until`, or when the bell was rung since the last wait.
  net::awaitable<void> wait_until(Clock::time_point until);

  // Runs `work` where it may block for a while, and returns or throws what it does.
  template <class Work>
  net::awaitable<std::invoke_result_t<Work>> offload(Work work) {
    return offload_to(pool_, std::move(work));
  }
  // The same on threads of the caller's choice, for work that takes long: it would keep others from these few.
  template <class Work>
  static net::awaitable<std::invoke_result_t<Work>> offload_to(net::thread_pool& pool, Work work) {
    return net::co_spawn(pool, call(std::move(work)), net::use_awaitable);
  }

 private:
  Peer(net::any_io_executor loop, net::thread_pool& pool, std::function<void()> watch);
  void wake();
  template <class Work>
  static net::awaitable<std::invoke_result_t<Work>> call(Work work) {
    co_return work();
  }

  net::thread_pool& pool_;
  net::steady_timer timer_;
  std::function<void()> watch_;
  std::shared_ptr<Bell> bell_;
  bool rung_ = false, gone_ = false, stopping_ = false;
};

}  // namespace kedge::server::http
