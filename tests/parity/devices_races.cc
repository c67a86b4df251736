// The emulated GPU, every access of whose kernels is looked at.
#include "tests/parity/emulated_device.h"
#include "tests/parity/races.h"

namespace kedge::parity {

std::vector<FoundDevice> find_devices() {
  engine::emulated::observer = &races();
  std::vector<FoundDevice> found;
  found.push_back(emulated_device(3));
  return found;
}

}   // namespace kedge::parity
