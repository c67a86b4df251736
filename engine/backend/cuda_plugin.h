// The CUDA backend is built twice, for drivers of CUDA 13 and of CUDA 12; here one is chosen for this driver and
// device.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>

#include "engine/backend/cuda_driver.h"
#include "engine/backend/plugin.h"

namespace kedge::engine {

struct CudaPluginKind {
  const char* file;
  int cuda;              // what the driver must serve, 12000 for CUDA 12.0
  const char* release;   // the first driver that does
  int capability;        // the oldest device that it has code for
};

// The best first. A driver for CUDA 12 serves what was built with any CUDA 12 (NVIDIA's "minor version compatibility").
inline constexpr std::array<CudaPluginKind, 2> kCudaPlugins{{
    {"libkedge_cuda.so", 13000, "580", 75},
    {"libkedge_cuda12.so", 12000, "525", 70},
}};

// Where none of them lies in one of `folders`: that, in words. Else empty.
std::string missing_cuda_plugins(std::span<const std::filesystem::path> folders);

struct LoadedPlugin {
  const Plugin* table = nullptr;
  std::filesystem::path file;
  std::string missing;   // why there is none: of each plug-in what speaks against it
};

// The first of kCudaPlugins that lies in one of `folders`, that the driver and its device `index` can take, and that
// loads. Loaded once, never unloaded: objects from it may live until the process ends. Loading again only counts
// references.
LoadedPlugin load_cuda_plugin(std::span<const std::filesystem::path> folders, const CudaDriver& driver, int index);

}   // namespace kedge::engine
