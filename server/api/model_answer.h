// Waiting, without a thread, for what a model says.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "schemas/error.h"
#include "server/http/net.h"
#include "server/http/peer.h"

namespace kedge::server::api {

// A result that another thread sets once.
template <class Answer>
struct Told {
  std::mutex mutex;
  std::optional<Answer> answer;
  std::exception_ptr error;

  // Empty until there is an answer. Throws the error.
  std::optional<Answer> take() {
    const std::lock_guard lock(mutex);
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
    return std::exchange(answer, std::nullopt);
  }
};

// Waits, without a thread, for what `start(tell)` begins and returns a handle of. It is dropped when the client goes.
template <class Answer, class Start>
http::net::awaitable<Answer> wait_for(std::shared_ptr<http::Peer> peer, Start start) {
  const auto told = std::make_shared<Told<Answer>>();   // shared with the thread that has the answer
  const auto tell = [told, bell = peer->bell()](Answer answer, std::exception_ptr error) {
    {
      const std::lock_guard lock(told->mutex);
      told->answer = std::move(answer), told->error = std::move(error);
    }
    bell->ring();
  };
  const std::shared_ptr<void> handle = start(tell);
  while (!peer->gone()) {
    if (std::optional<Answer> answer = told->take()) co_return std::move(*answer);
    co_await peer->wait_until(http::Peer::Clock::time_point::max());
  }
  throw schema::Error(schema::ErrorCode::kCancelled, "the client has disconnected");
}

}   // namespace kedge::server::api
