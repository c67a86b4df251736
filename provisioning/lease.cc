// When a lease is over.
#include "provisioning/lease.h"

#include <algorithm>
#include <cmath>

namespace kedge::provisioning {

LeaseState lease_state(const Lease& lease, std::int64_t created, std::int64_t now) {
  if (now - created >= lease.life_s) return LeaseState::kLifeOver;
  if (now - std::max(created, lease.renewed) >= lease.idle_s) return LeaseState::kIdleOver;
  return LeaseState::kHolds;
}

std::optional<Lease> within_spend(Lease lease, double price_usd_per_hour, double max_spend_usd) {
  constexpr double kShortest_s = 60;
  if (price_usd_per_hour <= 0) return lease;
  // What the machine's own fuse may add is paid as well.
  const double seconds = std::floor(max_spend_usd / price_usd_per_hour * 3600) - static_cast<double>(kFuseSlack_s);
  if (seconds < kShortest_s) return std::nullopt;
  lease.life_s = std::min(lease.life_s, static_cast<std::int64_t>(seconds));
  lease.idle_s = std::min(lease.idle_s, lease.life_s);
  return lease;
}

}  // namespace kedge::provisioning
