// How long a machine may live. Three levels keep to it: the provider's own fuse where there is one, the server on the machine,
// and the sweeper of the controller (controller.h, sweep).
#pragma once

#include <cstdint>
#include <optional>

namespace kedge::provisioning {

// Durations, not dates, go to the machine, so that its clock need not agree with ours.
struct Lease {
  std::int64_t idle_s = 15 * 60;   // the server ends itself after so long without a job and without a request
  std::int64_t life_s = 8 * 3600;  // hard end, counted from the launch
  std::int64_t renewed = 0;        // unix seconds of the client's last use, for the sweeper

  friend bool operator==(const Lease&, const Lease&) = default;
};

// The machine's own fuse fires this much after the hard end: the server is to go first, and in order.
constexpr std::int64_t kFuseSlack_s = 10 * 60;

enum class LeaseState { kHolds, kIdleOver, kLifeOver };
LeaseState lease_state(const Lease& lease, std::int64_t created, std::int64_t now);

// The life shortened so that price x life stays within `max_spend_usd`; nullopt when that leaves less than a minute.
std::optional<Lease> within_spend(Lease lease, double price_usd_per_hour, double max_spend_usd);

}  // namespace kedge::provisioning
