// The emulated GPU alone: what the program that runs the kernels under the address sanitizer links.
#include "engine/backend/cuda/cuda_device.h"
#include "tests/parity/devices.h"

namespace kedge::parity {

std::vector<FoundDevice> find_devices() {
  std::vector<FoundDevice> found;
  found.push_back({"emulated", engine::make_cuda_device({.seed = 7}), {}});
  return found;
}

}  // namespace kedge::parity
