// How many event streams each tenant has open, and how many it may.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

namespace kedge::server::api {

// Used on the loop's thread.
class StreamCounts {
 public:
  explicit StreamCounts(std::size_t per_tenant) : per_tenant_(per_tenant) {}   // 0: no bound

  // Counts one until the handle goes, which must not outlive this object. Null when the tenant has as many as it may.
  std::shared_ptr<void> open(const std::string& tenant) {
    std::size_t& mine = open_[tenant];
    if (per_tenant_ != 0 && mine >= per_tenant_) return nullptr;
    ++mine, ++total_;
    return std::shared_ptr<void>(this, [tenant](void* self) { static_cast<StreamCounts*>(self)->close(tenant); });
  }
  std::size_t total() const { return total_; }
  std::size_t per_tenant() const { return per_tenant_; }
  void set_per_tenant(std::size_t bound) { per_tenant_ = bound; }   // for streams to come

 private:
  void close(const std::string& tenant) {
    --total_;
    if (--open_[tenant] == 0) open_.erase(tenant);
  }

  std::size_t per_tenant_;
  std::size_t total_ = 0;
  std::map<std::string, std::size_t> open_;
};

}  // namespace kedge::server::api
