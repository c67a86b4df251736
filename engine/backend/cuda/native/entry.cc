// The one symbol that libkedge_cuda.so exports: the table of plugin.h. No exception leaves these functions.
#include <cstdio>
#include <exception>
#include <string>

#include "engine/backend/cuda/cuda_device.h"
#include "engine/backend/cuda/gpu_code.h"
#include "engine/backend/cuda/native/check.h"
#include "engine/backend/plugin.h"

namespace kedge::engine {
namespace {

void tell(char* message, std::size_t size, const char* text) {
  if (size) std::snprintf(message, size, "%s", text);
}

int count(char* message, std::size_t size) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);   // 35 without a driver, 100 where a driver has no device
  if (status != cudaSuccess) {
    tell(message, size, cudaGetErrorString(status));
    return -1;
  }
  if (devices == 0) tell(message, size, "the CUDA driver reports no device");
  return devices;
}

// Why this build has no kernels for the device: empty where it has.
std::string why_not(const cudaDeviceProp& properties) {
#if defined(KEDGE_CUDA_ARCHITECTURES)
  return missing_code(KEDGE_CUDA_ARCHITECTURES, properties.major, properties.minor);
#else
  static_cast<void>(properties);
  return {};
#endif
}

// Knows the device also where it cannot be used.
bool describe(int index, DeviceInfo* info, char* message, std::size_t size) {
  try {
    cudaDeviceProp properties{};
    KEDGE_CHECK(cudaGetDeviceProperties(&properties, index));
    int driver = 0;
    KEDGE_CHECK(cudaDriverGetVersion(&driver));
    *info = {.kind = DeviceKind::kCuda, .index = index, .name = properties.name,
             .driver = std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10),
             .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem)};
    const std::string reason = why_not(properties);
    if (!reason.empty()) tell(message, size, reason.c_str());
    return reason.empty();
  } catch (const std::exception& e) {
    tell(message, size, e.what());
    return false;
  }
}

Device* open(int index, char* message, std::size_t size) {
  try {
    cudaDeviceProp properties{};
    KEDGE_CHECK(cudaGetDeviceProperties(&properties, index));
    if (const std::string reason = why_not(properties); !reason.empty()) {
      tell(message, size, reason.c_str());
      return nullptr;
    }
    return make_cuda_device({.index = index}).release();
  } catch (const std::exception& e) {
    tell(message, size, e.what());
    return nullptr;
  }
}

constexpr Plugin kPlugin{kPluginAbi, &count, &describe, &open};

}  // namespace
}  // namespace kedge::engine

extern "C" __attribute__((visibility("default"))) const kedge::engine::Plugin* kedge_cuda_plugin() { return &kedge::engine::kPlugin; }
