// Finds and opens devices. The CUDA plug-in is in the folder of the executable, or in ../lib.
#include "engine/backend/loader.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/backend/cpu/cpu_device.h"
#include "engine/backend/plugin.h"
#include "engine/core/disk_error.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

struct Loaded {
  const Plugin* plugin = nullptr;
  std::string missing;   // why there is no plugin
};

std::array<std::filesystem::path, 2> plugin_places() {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {folder / kPluginFile, folder.parent_path() / "lib" / kPluginFile};
}

// Loaded once, never unloaded: objects from it may live until the process ends. Loading again only counts references.
Loaded load_plugin() {
  const auto places = plugin_places();
  for (const auto& path : places) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return {nullptr, fmt::format("{} does not load: {}", kPluginFile, dlerror())};
    auto* const entry = reinterpret_cast<PluginEntry*>(dlsym(library, kPluginEntry));
    if (!entry) return {nullptr, fmt::format("{} has no {}: it is not a plug-in of this program", shown(path), kPluginEntry)};
    const Plugin* const plugin = entry();
    if (plugin->abi != kPluginAbi)
      return {nullptr, fmt::format("{} is of another build: interface {}, must be {}", shown(path), plugin->abi, kPluginAbi)};
    return {plugin, {}};
  }
  return {nullptr, fmt::format("the CUDA backend is not installed: {} is not there", kPluginFile)};
}

using Message = std::array<char, 512>;

schema::DeviceEntry entry_of(std::string id, const DeviceInfo& info) {
  return {.id = std::move(id), .name = info.name, .driver = info.driver, .threads = info.threads, .memoryBytes = info.memory_bytes};
}

void list_cuda(schema::DeviceList& list) {
  const Loaded loaded = load_plugin();
  Message message{};
  const int count = loaded.plugin ? loaded.plugin->count(message.data(), message.size()) : -1;
  if (count <= 0) {
    list.devices.push_back({.id = "cuda", .missing = loaded.plugin ? message.data() : loaded.missing});
    return;
  }
  for (int i = 0; i < count; ++i) {
    DeviceInfo info;
    const bool ok = loaded.plugin->describe(i, &info, message.data(), message.size());
    list.devices.push_back(entry_of(fmt::format("cuda:{}", i), info));
    if (!ok) list.devices.back().missing = message.data();
  }
}

constexpr int kFirstUsable = -1;

// The index in "cuda:N"; kFirstUsable for "cuda".
std::optional<int> cuda_index(std::string_view id) {
  if (id == "cuda") return kFirstUsable;
  if (!id.starts_with("cuda:")) return std::nullopt;
  int index = -1;
  const char* const end = id.data() + id.size();
  const auto [rest, error] = std::from_chars(id.data() + 5, end, index);
  return error == std::errc{} && rest == end && index >= 0 ? std::optional(index) : std::nullopt;
}

// The first device that can be used, or the first one, which then says why it cannot.
int first_usable(const Plugin& plugin) {
  Message message{};
  DeviceInfo info;
  const int count = plugin.count(message.data(), message.size());
  for (int i = 0; i < count; ++i)
    if (plugin.describe(i, &info, message.data(), message.size())) return i;
  return 0;
}

std::unique_ptr<Device> open_cuda(int index) {
  const Loaded loaded = load_plugin();
  if (index == kFirstUsable) index = loaded.plugin ? first_usable(*loaded.plugin) : 0;
  require(loaded.plugin, schema::ErrorCode::kDeviceUnavailable, "cuda:{}: {}", index, loaded.missing);
  Message message{};
  const int count = loaded.plugin->count(message.data(), message.size());
  require(count > 0, schema::ErrorCode::kDeviceUnavailable, "cuda:{}: {}", index, message.data());
  require(index < count, schema::ErrorCode::kDeviceUnavailable, "cuda:{}: there are {} CUDA devices, the last is cuda:{}", index, count, count - 1);
  Device* const device = loaded.plugin->open(index, message.data(), message.size());
  require(device, schema::ErrorCode::kDeviceUnavailable, "cuda:{}: {}", index, message.data());
  return std::unique_ptr<Device>(device);
}

}  // namespace

std::unique_ptr<Device> open_device(std::string_view id) {
  if (id == "cpu") return make_cpu_device();
  const auto index = cuda_index(id);
  require(index.has_value(), schema::ErrorCode::kDeviceUnavailable, "device \"{}\" is unknown, must be \"cpu\", \"cuda\" or \"cuda:N\"", id);
  return open_cuda(*index);
}

schema::DeviceList list_devices() {
  schema::DeviceList list;
  list.devices.push_back(entry_of("cpu", describe_cpu()));
  list_cuda(list);
  return list;
}

}  // namespace kedge::engine
