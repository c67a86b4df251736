// The choice between the plug-ins, in words where none can be taken, and their opening.
#include "engine/backend/cuda_plugin.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <optional>

#include "engine/core/disk_error.h"

namespace kedge::engine {
namespace {

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string name_of(const CudaDriver& driver) {
  if (!driver.missing.empty()) return driver.missing;
  return fmt::format("NVIDIA driver {}{}(CUDA {})", driver.release, driver.release.empty() ? "" : " ",
                     cuda_version(driver.cuda));
}

std::optional<std::filesystem::path> find(const char* file, std::span<const std::filesystem::path> folders) {
  std::error_code ignored;
  for (const auto& folder : folders)
    if (std::filesystem::exists(folder / file, ignored)) return folder / file;
  return std::nullopt;
}

// What speaks against this plug-in before it is opened, or nothing.
std::string refusal(const CudaPluginKind& kind, const CudaDriver& driver, int index) {
  if (driver.cuda == 0) return {};   // whatever it is, the plug-in has its own way to find it
  if (driver.cuda < kind.cuda)
    return fmt::format("{} needs driver {} (CUDA {}) or newer", kind.file, kind.release, cuda_version(kind.cuda));
  if (index >= static_cast<int>(driver.capabilities.size())) return {};
  const int has = driver.capabilities[static_cast<std::size_t>(index)];
  if (has >= kind.capability) return {};
  return fmt::format("{} needs compute capability {}.{} or newer, cuda:{} has {}.{}", kind.file, kind.capability / 10,
                     kind.capability % 10, index, has / 10, has % 10);
}

LoadedPlugin open_plugin(const std::filesystem::path& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return {nullptr, path, fmt::format("{} does not load: {}", path.filename().string(), dlerror())};
  auto* const entry = reinterpret_cast<PluginEntry*>(dlsym(library, kPluginEntry));
  if (!entry)
    return {nullptr, path, fmt::format("{} has no {}: it is not a plug-in of this program", shown(path), kPluginEntry)};
  const Plugin* const plugin = entry();
  if (plugin->abi != kPluginAbi)
    return {nullptr, path,
            fmt::format("{} is of another build: interface {}, must be {}", shown(path), plugin->abi, kPluginAbi)};
  return {plugin, path, {}};
}

}   // namespace

std::string missing_cuda_plugins(std::span<const std::filesystem::path> folders) {
  for (const CudaPluginKind& kind : kCudaPlugins)
    if (find(kind.file, folders)) return {};
  return fmt::format("the CUDA backend is not installed: {} is not there, nor {}", kCudaPlugins[0].file,
                     kCudaPlugins[1].file);
}

LoadedPlugin load_cuda_plugin(std::span<const std::filesystem::path> folders, const CudaDriver& driver, int index) {
  std::string reasons;
  for (const CudaPluginKind& kind : kCudaPlugins) {
    std::string reason = refusal(kind, driver, index);
    if (reason.empty()) {
      const auto path = find(kind.file, folders);
      LoadedPlugin loaded;
      if (path) loaded = open_plugin(*path);
      if (loaded.table) return loaded;
      reason = path ? loaded.missing : fmt::format("{} is not installed", kind.file);
    }
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", reason);
  }
  return {.missing = fmt::format("{}: {}", name_of(driver), reasons)};
}

}   // namespace kedge::engine
