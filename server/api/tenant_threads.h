// Threads for one kind of slow work, such as previews of data sets, and how many of them each tenant may use.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "schemas/error.h"
#include "server/http/net.h"

namespace kedge::server::api {

// take() is used on the loop's thread. Half of the threads are always left to other tenants.
class TenantThreads {
 public:
  static constexpr std::size_t kThreads = 4, kPerTenant = 2;

  // what: the work in messages, "previews".
  explicit TenantThreads(std::string what) : what_(std::move(what)) {}
  ~TenantThreads() { end(); }
  // Counts one until the handle goes, which must not outlive this object. Errors: kTooManyRequests.
  std::shared_ptr<void> take(const std::string& tenant) {
    std::size_t& mine = running_[tenant];
    if (mine >= kPerTenant)
      throw schema::Error(schema::ErrorCode::kTooManyRequests,
                          "two " + what_ + " of this tenant are being made; wait for one of them");
    ++mine;
    return std::shared_ptr<void>(this, [tenant](void* self) { static_cast<TenantThreads*>(self)->leave(tenant); });
  }
  http::net::thread_pool& threads() { return threads_; }
  std::stop_token stopping() const { return stopping_.get_token(); }
  // Stops what runs and waits for it: before the loop goes that it answers to.
  void end() {
    stopping_.request_stop();
    threads_.join();
  }

 private:
  void leave(const std::string& tenant) {
    if (--running_[tenant] == 0) running_.erase(tenant);
  }

  const std::string what_;
  std::map<std::string, std::size_t> running_;
  std::stop_source stopping_;
  http::net::thread_pool threads_{kThreads};
};

}  // namespace kedge::server::api
