// The client at the other end, as a slow handler needs to know it.
#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "server/http/alarm.h"
#include "server/http/net.h"

namespace kedge::server::http {

// Rings a waiting handler from any thread, at any time. It is shared by the Peer and by those that ring, which
// may outlive the connection; after that ring() does nothing.
class Bell {
 public:
  explicit Bell(net::any_io_executor loop) : alarm_(std::in_place, std::move(loop)) {}
  void ring() noexcept;
  void close();   // on the loop, which must still be there
  Alarm& alarm() { return *alarm_; }   // for the waiting handler

 private:
  std::mutex mutex_;
  std::optional<Alarm> alarm_;
};

// Lives on the loop's thread, as all of http does; only the bell may be touched elsewhere. One waiter at a
// time.
class Peer : public std::enable_shared_from_this<Peer> {
 public:
  using Clock = std::chrono::steady_clock;

  // `watch` is called at the first wait: from then on the session must notice that the client disconnects.
  static std::shared_ptr<Peer> make(net::any_io_executor loop, net::thread_pool& pool,
                                    std::function<void()> watch);
  ~Peer();

  bool gone() const { return gone_; }          // the client closed the connection
  bool stopping() const { return stopping_; }  // the server is stopping: come to an end
  void set_gone();
  void set_stopping();

  net::any_io_executor executor() { return bell_->alarm().executor(); }
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
  static net::awaitable<std::invoke_result_t<Work>> offload_to(net::thread_pool& pool, Work work);

 private:
  Peer(net::any_io_executor loop, net::thread_pool& pool, std::function<void()> watch);

  // Work on its way through another thread. Everything is there before it leaves, so that its end cannot fail.
  template <class Work>
  struct Errand {
    using Result = std::invoke_result_t<Work>;
    static constexpr bool kReturns = !std::is_void_v<Result>;

    Errand(net::any_io_executor loop, Work given) : work(std::move(given)), done(std::move(loop)) {}
    void run() noexcept {
      if (State expected = State::kPosted; !state.compare_exchange_strong(expected, State::kRuns)) return;
      try {
        if constexpr (kReturns)
          result.emplace((*work)());
        else
          (*work)();
      } catch (...) {
        error = std::current_exception();
      }
      state = State::kDone;
      state.notify_all();
      done.ring();
    }
    // Afterwards the work does not run, and never will: what it refers to can go.
    void abandon() noexcept {
      State found = State::kPosted;
      if (!state.compare_exchange_strong(found, State::kAbandoned) && found == State::kRuns) state.wait(State::kRuns);
    }

    enum class State { kPosted, kRuns, kDone, kAbandoned };

    std::optional<Work> work;
    std::optional<std::conditional_t<kReturns, Result, bool>> result;
    std::exception_ptr error;
    std::atomic<State> state = State::kPosted;
    Alarm done;
  };

  // In the frame that waits for an errand. A frame can go before its wait is over: where memory lacks to begin it, Asio destroys the
  // coroutine and all that wait for it, whose variables the work refers to.
  template <class Work>
  struct Abandons {
    Errand<Work>& errand;
    ~Abandons() { errand.abandon(); }
  };

  net::thread_pool& pool_;
  std::function<void()> watch_;
  std::shared_ptr<Bell> bell_;
  bool gone_ = false, stopping_ = false;
};

template <class Work>
net::awaitable<std::invoke_result_t<Work>> Peer::offload_to(net::thread_pool& pool, Work work) {
  const net::any_io_executor loop = co_await net::this_coro::executor;
  const auto errand = std::make_shared<Errand<Work>>(loop, std::move(work));   // shared with the thread that runs it
  const Abandons<Work> at_the_end{*errand};
  net::post(pool, [errand] { errand->run(); });
  while (errand->state != Errand<Work>::State::kDone) co_await errand->done.wait_until(Clock::time_point::max());
  // Taken out: the other thread may be the last to let go of the errand, and is not to free what is thrown here.
  if (std::exception_ptr error = std::exchange(errand->error, nullptr)) std::rethrow_exception(std::move(error));
  if constexpr (Errand<Work>::kReturns) co_return std::move(*errand->result);
}

}  // namespace kedge::server::http
