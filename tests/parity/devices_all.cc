// Every backend: the CPU, the emulated GPU, and CUDA where a device answers.
#include "engine/backend/loader.h"
#include "schemas/error.h"
#include "tests/parity/emulated_device.h"

namespace kedge::parity {

std::vector<FoundDevice> find_devices() {
  std::vector<FoundDevice> found;
  found.push_back({"cpu", engine::open_device("cpu"), {}});
  found.push_back(emulated_device(20240229));
  try {
    found.push_back({"cuda", engine::open_device("cuda"), {}});
  } catch (const schema::Error& e) {
    found.push_back({"cuda", nullptr, e.message});
  }
  return found;
}

}  // namespace kedge::parity
