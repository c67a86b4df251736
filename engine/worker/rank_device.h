// On which device each rank of a group computes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/comm/comm.h"
#include "engine/worker/rank_identity.h"

namespace kedge::engine {

// What a group may be asked to compute on: "cpu", "cuda", or "auto". The last is "cuda" where that gives each rank a
// GPU, else "cpu". Errors: kInvalidValue.
void check_device_wish(std::string_view wish);

// Ids for open_device(), in the order of the ranks; the same on every rank. With "cuda" the ranks of a machine take in
// their order the GPUs that they can use; where the launcher shows each rank other GPUs, their count begins again at
// the first. Errors: kDeviceUnavailable where a rank finds no GPU that it can use, with the reason, where two ranks
// would share one, or where the GPUs are not alike: equal bits need equal devices.
std::vector<std::string> devices_of_ranks(std::span<const RankIdentity> ranks, std::string_view wish);

// Collective: opens this rank's own. Errors: that of the lowest rank that cannot, on every rank, with its host.
std::unique_ptr<Device> open_own_device(Comm& comm, std::span<const RankIdentity> ranks,
                                        std::span<const std::string> devices);

}   // namespace kedge::engine
