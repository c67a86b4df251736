// Counts what waits.
#include "server/models/ask_room.h"

#include <fmt/core.h>

#include "schemas/error.h"
#include "schemas/quota.h"

namespace kedge::server {

void AskRoom::enter(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  const auto mine = mine_.find(tenant);
  if (mine != mine_.end() && mine->second >= per_tenant_)
    throw schema::QuotaExceeded(fmt::format("{} predictions are waiting, no more may", per_tenant_),
                                {.name = "predictions", .unit = "concurrent-requests", .most = per_tenant_});
  if (all_ >= total_)
    throw schema::Error(schema::ErrorCode::kUnavailable,
                        fmt::format("{} predictions are waiting, no more may", total_));
  ++mine_[tenant];
  ++all_;
}

void AskRoom::leave(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  const auto mine = mine_.find(tenant);
  if (--mine->second == 0) mine_.erase(mine);
  --all_;
}

}   // namespace kedge::server
