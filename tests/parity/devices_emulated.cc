// The emulated GPU alone: what the program that runs the kernels under the address sanitizer links.
#include "tests/parity/emulated_device.h"

namespace kedge::parity {

std::vector<FoundDevice> find_devices() {
  std::vector<FoundDevice> found;
  found.push_back(emulated_device(7));
  return found;
}

}  // namespace kedge::parity
