// Every backend: the CPU, the emulated GPU, and CUDA where a device answers.
#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/loader.h"
#include "schemas/error.h"
#include "tests/parity/devices.h"

namespace kedge::parity {

std::vector<FoundDevice> find_devices() {
  std::vector<FoundDevice> found;
  found.push_back({"cpu", engine::open_device("cpu"), {}});
  found.push_back({"emulated", engine::make_cuda_device({.seed = 20240229}), {}});
  try {
    found.push_back({"cuda", engine::open_device("cuda"), {}});
  } catch (const schema::Error& e) {
    found.push_back({"cuda", nullptr, e.message});
  }
  return found;
}

}  // namespace kedge::parity
