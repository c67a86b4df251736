// How many fetches run at a time, of each tenant and in all: one tenant's slow downloads leave room for the others'.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "engine/faults/fail_point.h"

namespace kedge::server {

// Not thread safe.
class FetchSlots {
 public:
  explicit FetchSlots(std::size_t most) : most_(most) {}
  void set_per_tenant(std::size_t most) { per_tenant_ = most; }   // 0: only the bound of all

  bool is_full() const { return taken_ == most_; }
  bool has_room(std::string_view tenant) const {
    return !is_full() && (per_tenant_ == 0 || running(tenant) < per_tenant_ || KEDGE_CONTROL("share-no-fetches"));
  }
  std::size_t running(std::string_view tenant) const {
    const auto found = by_tenant_.find(tenant);
    return found == by_tenant_.end() ? 0 : found->second;
  }
  void take(const std::string& tenant) {
    ++by_tenant_[tenant];
    ++taken_;
  }
  void give_back(std::string_view tenant) {
    const auto found = by_tenant_.find(tenant);
    if (--found->second == 0) by_tenant_.erase(found);
    --taken_;
  }

 private:
  const std::size_t most_;
  std::size_t per_tenant_ = 0, taken_ = 0;
  std::map<std::string, std::size_t, std::less<>> by_tenant_;   // of those that have any
};

}  // namespace kedge::server
