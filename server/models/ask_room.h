// How many questions wait, of each tenant and of all: shared by the workers of a pool.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace kedge::server {

// Thread safe.
class AskRoom {
 public:
  AskRoom(std::size_t per_tenant, std::size_t total) : per_tenant_(per_tenant), total_(total) {}

  // One more waits. Errors: schema::QuotaExceeded when so many of the tenant's wait already, kUnavailable when so many
  // of all do.
  void enter(const std::string& tenant);
  void leave(const std::string& tenant);   // as often as enter() returned

 private:
  const std::size_t per_tenant_, total_;
  std::mutex mutex_;                          // guards what follows
  std::map<std::string, std::size_t> mine_;   // none is 0
  std::size_t all_ = 0;
};

}   // namespace kedge::server
