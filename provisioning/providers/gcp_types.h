// The machine types of Compute Engine that we offer. Google gives no prices for machines through this API, so these are
// list prices.
#pragma once

#include <span>

namespace kedge::provisioning {

struct GcpType {
  const char* name;          // "n1-standard-4+t4": a machine type, and what is attached to it
  const char* gpu;           // canonical_gpu() of it
  const char* accelerator;   // Google's name of it
  int gpus;
  bool attached;   // the GPU is requested in addition to the machine type
  int cpus;
  double memory_gb;
  double list_price;   // USD an hour on demand in us-central1, GPU and machine together; other regions differ by a quarter or so
};
std::span<const GcpType> gcp_types();

constexpr const char* kGcpListSource = "list of us-central1, November 2026";
// The spot price changes by the month and is not available here; it is never above the price on demand.
constexpr const char* kGcpSpotSource = "at most: list on demand, November 2026";

// The driver must be 580 or newer for CUDA 13. KEDGE_GCP_IMAGE names others.
constexpr const char* kGcpGpuImage =
    "projects/deeplearning-platform-release/global/images/family/common-cu129-ubuntu-2204-nvidia-580";
constexpr const char* kGcpImage = "projects/debian-cloud/global/images/family/debian-12";

}   // namespace kedge::provisioning
