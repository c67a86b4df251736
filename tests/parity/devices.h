// The devices that the parity driver finds. One program links devices_all.cc, the other devices_emulated.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/parity/cases.h"

namespace kedge::parity {

struct FoundDevice {
  std::string name;
  std::unique_ptr<engine::Device> device;   // null: not here, and `missing` says why
  std::string missing = {};
  LaunchWatch launches = {};
};

std::vector<FoundDevice> find_devices();

}  // namespace kedge::parity
