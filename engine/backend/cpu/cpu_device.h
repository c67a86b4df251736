// The CPU as a device.
#pragma once

#include <memory>

#include "engine/backend/backend.h"

namespace kedge::engine {

std::unique_ptr<Device> make_cpu_device();
DeviceInfo describe_cpu();   // name from /proc/cpuinfo; threads as OpenMP will use, which respects the affinity mask

}  // namespace kedge::engine
