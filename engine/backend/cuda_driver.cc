// The few functions of the driver API that are asked for; their signatures are the same in every release since CUDA 4.
#include "engine/backend/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <array>
#include <fstream>
#include <sstream>

namespace kedge::engine {
namespace {

constexpr int kMajor = 75, kMinor = 76;   // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ...": the first number with a
// point.
std::string release_of(const std::filesystem::path& module) {
  std::ifstream file(module);
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return {};
}

template <class... Args>
bool call(void* library, const char* name, Args... args) {
  auto* const function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  return function && function(args...) == 0;
}

std::vector<int> capabilities_of(void* library) {
  int count = 0;
  if (!call(library, "cuInit", 0u) || !call(library, "cuDeviceGetCount", &count)) return {};
  std::vector<int> found;
  for (int i = 0; i < count; ++i) {
    int device = 0, major = 0, minor = 0;
    if (!call(library, "cuDeviceGet", &device, i) || !call(library, "cuDeviceGetAttribute", &major, kMajor, device) ||
        !call(library, "cuDeviceGetAttribute", &minor, kMinor, device))
      return {};
    found.push_back(10 * major + minor);
  }
  return found;
}

// Of a part of a device its own, which drivers say since CUDA 11.4.
bool uuid_of(void* library, int index, std::array<unsigned char, 16>& uuid) {
  int device = 0;
  void* const to = uuid.data();
  return call(library, "cuDeviceGet", &device, index) &&
         (call(library, "cuDeviceGetUuid_v2", to, device) || call(library, "cuDeviceGetUuid", to, device));
}

}   // namespace

std::vector<std::string> cuda_uuids(const char* library) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);   // never unloaded, as below
  int count = 0;
  if (!opened || !call(opened, "cuInit", 0u) || !call(opened, "cuDeviceGetCount", &count)) return {};
  std::vector<std::string> found;
  for (int i = 0; i < count; ++i) {
    std::array<unsigned char, 16> uuid{};
    if (!uuid_of(opened, i, uuid)) return {};
    std::string& text = found.emplace_back();
    for (const unsigned char byte : uuid) text += fmt::format("{:02x}", byte);
  }
  return found;
}

CudaDriver find_cuda_driver(const char* library, const std::filesystem::path& module) {
  CudaDriver driver{.release = release_of(module)};
  // Never unloaded: a driver keeps threads.
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    driver.missing = fmt::format("no NVIDIA driver: {}", dlerror());
    return driver;
  }
  int version = 0;
  if (!call(opened, "cuDriverGetVersion", &version) || version <= 0) {
    driver.missing = fmt::format("the NVIDIA driver does not tell its version: {}", library);
    return driver;
  }
  driver.cuda = version;
  driver.capabilities = capabilities_of(opened);
  return driver;
}

}   // namespace kedge::engine
