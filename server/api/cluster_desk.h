// Where the ranks of the device "cluster" are checked: one check at a time, on a thread of its own.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "server/http/peer.h"

namespace kedge::server::api {

// Used on the loop's thread. Its destructor stops a check and waits for it.
class ClusterDesk {
 public:
  // Starts ranks, compares and measures them, and returns the report, as JSON or as text. Errors: kUnavailable with the
  // launcher's words when they do not come together, or at a stop.
  using Check = std::function<std::string(bool as_json, std::stop_token stop)>;

  explicit ClusterDesk(Check check) : check_(std::move(check)) {}
  ~ClusterDesk() { end(); }

  // The report. The check is stopped when the client goes or the server stops. Errors: the check's; kTooManyRequests
  // while another one runs.
  http::net::awaitable<std::string> report(std::shared_ptr<http::Peer> peer, bool as_json);
  // Stops what runs and waits for it: before the loop goes that it answers to.
  void end();

 private:
  struct Errand;

  const Check check_;
  std::weak_ptr<Errand> running_;
  std::stop_source stopping_;
  http::net::thread_pool threads_{1};
};

}   // namespace kedge::server::api
