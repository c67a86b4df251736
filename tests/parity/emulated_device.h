// The emulated GPU as a device of the parity driver, whose launches can be seen.
#pragma once

#include <memory>
#include <string_view>

#include "engine/backend/cuda/cuda_device.h"
#include "tests/parity/devices.h"
#include "tests/support/launch_log.h"

namespace kedge::parity {

class EmulatedLaunches final : public Launches {
 public:
  explicit EmulatedLaunches(engine::CudaRuntime& runtime) : log_(runtime) {}
  bool has(std::string_view kernel) const override { return log_.has(kernel); }

 private:
  test::LaunchLog log_;
};

inline FoundDevice emulated_device(std::uint64_t seed) {
  FoundDevice found{.name = "emulated", .device = engine::make_cuda_device({.seed = seed})};
  found.launches = [&memory = found.device->memory()] {
    return std::make_unique<EmulatedLaunches>(static_cast<engine::CudaRuntime&>(memory));
  };
  return found;
}

}   // namespace kedge::parity
