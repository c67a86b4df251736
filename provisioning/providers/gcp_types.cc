// Compute Engine's machine types.
#include "provisioning/providers/gcp_types.h"

namespace kedge::provisioning {
namespace {

// Where published copies of the list differ, the dearest: a cap then holds.
constexpr GcpType kTypes[] = {
    {"e2-medium", "", "", 0, false, 2, 4, 0.0336},
    {"e2-standard-4", "", "", 0, false, 4, 16, 0.1342},
    {"n1-standard-4+t4", "T4", "nvidia-tesla-t4", 1, true, 4, 15, 0.54},
    {"g2-standard-4", "L4", "nvidia-l4", 1, false, 4, 16, 0.7211},
    {"g2-standard-8", "L4", "nvidia-l4", 1, false, 8, 32, 0.9422},
    {"a2-highgpu-1g", "A100", "nvidia-tesla-a100", 1, false, 12, 85, 3.6734},
    {"a2-ultragpu-1g", "A100", "nvidia-a100-80gb", 1, false, 12, 170, 5.07},
    {"g4-standard-48", "RTXPRO6000", "nvidia-rtx-pro-6000", 1, false, 48, 180, 4.5002},
};

}   // namespace

std::span<const GcpType> gcp_types() {
  return kTypes;
}

}   // namespace kedge::provisioning
