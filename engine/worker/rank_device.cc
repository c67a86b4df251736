// On which device each rank of a group computes: see rank_device.h.
#include "engine/worker/rank_device.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "engine/backend/loader.h"
#include "engine/comm/ranks.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kCpu = "cpu", kCuda = "cuda", kAuto = "auto";

[[noreturn]] void refuse(std::string why) {
  throw Error(ErrorCode::kDeviceUnavailable, "cluster-device is cuda, but " + std::move(why));
}

// What no other rank may have. A driver that says no identity has one GPU under one number on a machine.
std::string unit_of(const RankIdentity& rank, const RankGpu& gpu) {
  return gpu.uuid.empty() ? rank.place + " " + gpu.id : gpu.uuid;
}

// Of the ranks of one machine; they are more than its GPUs.
std::string shared_gpu(std::span<const RankIdentity> ranks, const RankIdentity& of, const RankGpu& gpu) {
  const auto here = std::ranges::count(ranks, of.place, &RankIdentity::place);
  return fmt::format(
      "{} ranks are on {} and two would share {}, of {} that they can use there: must be at most one rank "
      "for each GPU (cluster-ranks, cluster-hosts)",
      here, of.host, gpu.id, of.gpus.size());
}

std::vector<std::string> gpus_of_ranks(std::span<const RankIdentity> ranks) {
  std::vector<std::string> devices;
  std::set<std::string> taken;
  const RankGpu* first = nullptr;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankIdentity& rank = ranks[r];
    if (rank.gpus.empty()) refuse(fmt::format("rank {} on {} has no GPU: {}", r, rank.host, rank.no_gpu));
    const auto before = std::ranges::count(ranks.first(r), rank.place, &RankIdentity::place);
    const RankGpu& gpu = rank.gpus[static_cast<std::size_t>(before) % rank.gpus.size()];
    if (!taken.insert(unit_of(rank, gpu)).second) refuse(shared_gpu(ranks, rank, gpu));
    if (!first) first = &gpu;
    for (const auto& [name, member] : {std::pair("GPU", &RankGpu::name), std::pair("driver", &RankGpu::driver)}) {
      if (gpu.*member != first->*member)
        throw Error(ErrorCode::kDeviceUnavailable,
                    unlike(name, {r, rank.host, gpu.*member}, {0, ranks[0].host, first->*member}));
    }
    devices.push_back(gpu.id);
  }
  return devices;
}

}   // namespace

void check_device_wish(std::string_view wish) {
  if (!std::ranges::count(std::array{kCpu, kCuda, kAuto}, wish))
    throw Error(ErrorCode::kInvalidValue, fmt::format("device is '{}', must be cpu, cuda or auto", wish), "device");
}

std::vector<std::string> devices_of_ranks(std::span<const RankIdentity> ranks, std::string_view wish) {
  const std::vector<std::string> processors(ranks.size(), std::string(kCpu));
  if (wish == kCpu) return processors;
  try {
    return gpus_of_ranks(ranks);
  } catch (const Error&) {
    if (wish == kCuda) throw;
    return processors;
  }
}

std::unique_ptr<Device> open_own_device(Comm& comm, std::span<const RankIdentity> ranks,
                                        std::span<const std::string> devices) {
  const auto own = static_cast<std::size_t>(comm.rank());
  std::unique_ptr<Device> device;
  Ranks(comm).share([&]() -> std::vector<std::byte> {
    try {
      device = open_device(devices[own]);
      return {};
    } catch (const Error& error) {
      throw Error(error.code, fmt::format("rank {} on {}: {}", own, ranks[own].host, error.message));
    }
  });
  return device;
}

}   // namespace kedge::engine
