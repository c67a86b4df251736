// Ends a server that is no longer used, or whose time is over: for machines that cost money.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "server/http/router.h"

namespace kedge::server {

struct LeaseOptions {
  std::chrono::seconds idle{0};   // without a request below /v1 and without a job; 0: forever
  std::chrono::seconds life{0};   // from the start, even if jobs run; 0: forever
};

// Watches on a thread of its own, by the steady clock. Thread safe.
class Lease {
 public:
  using Clock = std::chrono::steady_clock;
  // `busy`: jobs wait or run. `over` is called once, with the reason, from the watching thread.
  Lease(LeaseOptions options, std::function<bool()> busy, std::function<void(std::string_view)> over);

  void touch() { last_use_ = Clock::now(); }
  // The same routes, of which those below /v1 renew the lease. Health checks do not: they come from machines. Must not outlive this.
  std::vector<http::Route> renewed_by(std::vector<http::Route> routes);

 private:
  void watch(const std::stop_token& stop);
  std::string_view reason();   // empty: the lease holds

  LeaseOptions options_;
  std::function<bool()> busy_;
  std::function<void(std::string_view)> over_;
  Clock::time_point start_ = Clock::now();
  std::atomic<Clock::time_point> last_use_{start_};
  std::jthread thread_;   // last: it uses the others
};

}  // namespace kedge::server
