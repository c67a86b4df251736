// Asks nvidia-smi.
#include "provisioning/providers/gpus.h"

#include <sstream>
#include <thread>

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

Offer offer_here(const char* provider, const char* id) {
  Offer offer{.provider = provider,
              .id = id,
              .cpus = static_cast<int>(std::thread::hardware_concurrency()),
              .region = "here",
              .price_source = "live"};
  if (const auto gpus = gpus_here(); !gpus.empty()) offer.gpu = gpus.front(), offer.gpus = static_cast<int>(gpus.size());
  return offer;
}

}   // namespace kedge::provisioning
