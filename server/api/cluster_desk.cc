// Hands a check to its thread and watches for a client that goes meanwhile.
#include "server/api/cluster_desk.h"

#include <atomic>
#include <exception>
#include <utility>

#include "schemas/error.h"

namespace kedge::server::api {

using http::Peer;
using schema::Error;
using schema::ErrorCode;

// Shared by the handler that waits and the thread that checks; the last of the two frees it.
struct ClusterDesk::Errand {
  std::string report = {};
  std::stop_source stop = {};
  std::exception_ptr error = {};
  std::atomic<bool> is_done = false;
};

http::net::awaitable<std::string> ClusterDesk::report(std::shared_ptr<Peer> peer, bool as_json) {
  if (!running_.expired())
    throw Error(ErrorCode::kTooManyRequests, "the ranks are being checked; wait for the end of that");
  const auto errand = std::make_shared<Errand>();
  running_ = errand;
  struct Stop {   // a frame can go before its wait is over
    Errand& errand;
    ~Stop() { errand.stop.request_stop(); }
  } const at_the_end{*errand};
  http::net::post(threads_, [errand, as_json, &check = check_, bell = peer->bell()] {
    try {
      errand->report = check(as_json, errand->stop.get_token());
    } catch (...) {
      errand->error = std::current_exception();
    }
    errand->is_done = true;
    bell->ring();
  });
  const std::stop_callback with_server(stopping_.get_token(), [errand] { errand->stop.request_stop(); });
  while (!errand->is_done) {
    co_await peer->wait_until(Peer::Clock::time_point::max());
    if (peer->gone() || peer->stopping()) errand->stop.request_stop();
  }
  if (std::exception_ptr error = std::exchange(errand->error, nullptr)) std::rethrow_exception(std::move(error));
  co_return std::move(errand->report);
}

void ClusterDesk::end() {
  stopping_.request_stop();
  threads_.join();
}

}   // namespace kedge::server::api
