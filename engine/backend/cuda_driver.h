// What the NVIDIA driver of this machine says about itself, asked without any CUDA library.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kedge::engine {

struct CudaDriver {
  int cuda = 0;          // the newest CUDA that it serves, as it says it: 12020 for CUDA 12.2; 0 without a driver
  std::string release;   // of its kernel module, such as "535.104.05"; empty where that does not say
  std::vector<int>
      capabilities;      // of each device, 75 for compute capability 7.5; empty where the driver does not answer
  std::string missing;   // why `cuda` is 0
};

// Loads the driver's library and asks it. Never throws for a missing or broken driver.
CudaDriver find_cuda_driver(const char* library = "libcuda.so.1",
                            const std::filesystem::path& module = "/proc/driver/nvidia/version");

// What distinguishes its devices from all others, in their order, as 32 hexadecimal digits; of a part of a device (MIG)
// that of the part. Empty where the driver does not say it. Never throws.
std::vector<std::string> cuda_uuids(const char* library = "libcuda.so.1");

}   // namespace kedge::engine
