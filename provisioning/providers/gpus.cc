// Asks nvidia-smi.
#include "provisioning/providers/gpus.h"

#include <sstream>

#include "provisioning/offer.h"
#include "provisioning/process.h"

namespace kedge::provisioning {

std::vector<std::string> gpus_from(const std::string& output) {
  std::vector<std::string> gpus;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (std::string gpu = canonical_gpu(line); !gpu.empty()) gpus.push_back(std::move(gpu));
  return gpus;
}

std::vector<std::string> gpus_here() {
  if (!on_path("nvidia-smi")) return {};
  const Outcome outcome = run_program({"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"});
  return outcome.status == 0 ? gpus_from(outcome.out) : std::vector<std::string>();
}

}  // namespace kedge::provisioning
