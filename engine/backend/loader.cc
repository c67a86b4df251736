// Finds and opens devices. The CUDA plug-in is in the folder of the executable, or in ../lib.
#include "engine/backend/loader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "engine/backend/cpu/cpu_device.h"
#include "engine/backend/cuda_plugin.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

// What chooses a plug-in. The driver is asked only where there is one to choose.
struct Cuda {
  std::array<std::filesystem::path, 2> folders = plugin_folders();
  CudaDriver driver = ask_driver(folders);

  LoadedPlugin load(int index) const { return load_cuda_plugin(folders, driver, index); }

 private:
  static std::array<std::filesystem::path, 2> plugin_folders() {
    std::error_code ignored;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    return {folder, folder.parent_path() / "lib"};
  }
  static CudaDriver ask_driver(std::span<const std::filesystem::path> folders) {
    std::string missing = missing_cuda_plugins(folders);
    return missing.empty() ? find_cuda_driver() : CudaDriver{.missing = std::move(missing)};
  }
};

using Message = std::array<char, 512>;

schema::DeviceEntry entry_of(std::string id, const DeviceInfo& info) {
  return {.id = std::move(id), .name = info.name, .driver = info.driver, .threads = info.threads, .memoryBytes = info.memory_bytes};
}

// What a plug-in says that finds no device, and what is known of the driver.
std::string told_by(const Message& message, const CudaDriver& driver) {
  return driver.missing.empty() ? message.data() : fmt::format("{}; {}", driver.missing, message.data());
}

// How many devices there are, as the driver says it, or else a plug-in; or 0 with the reason.
int count_cuda(const Cuda& cuda, std::string& missing) {
  int usable = 0;
  const int told = static_cast<int>(cuda.driver.capabilities.size());
  for (int i = 0; i < told; ++i) usable += cuda.load(i).table != nullptr;
  if (usable > 0) return told;
  const LoadedPlugin loaded = cuda.load(0);
  missing = loaded.missing;
  if (!loaded.table) return 0;
  Message message{};
  const int count = loaded.table->count(message.data(), message.size());
  missing = told_by(message, cuda.driver);
  return std::max(count, 0);
}

void list_cuda(schema::DeviceList& list) {
  const Cuda cuda;
  std::string missing;
  const int count = count_cuda(cuda, missing);
  if (count == 0) list.devices.push_back({.id = "cuda", .missing = missing});
  for (int i = 0; i < count; ++i) {
    DeviceInfo info;
    Message message{};
    const LoadedPlugin loaded = cuda.load(i);
    const bool ok = loaded.table && loaded.table->describe(i, &info, message.data(), message.size());
    list.devices.push_back(entry_of(fmt::format("cuda:{}", i), info));
    if (!ok) list.devices.back().missing = loaded.table ? message.data() : loaded.missing;
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
int first_usable(const Cuda& cuda) {
  std::string missing;
  const int count = count_cuda(cuda, missing);
  for (int i = 0; i < count; ++i) {
    Message message{};
    DeviceInfo info;
    const LoadedPlugin loaded = cuda.load(i);
    if (loaded.table && loaded.table->describe(i, &info, message.data(), message.size())) return i;
  }
  return 0;
}

std::unique_ptr<Device> open_cuda(int index) {
  const Cuda cuda;
  if (index == kFirstUsable) index = first_usable(cuda);
  const LoadedPlugin loaded = cuda.load(index);
  require(loaded.table, schema::ErrorCode::kDeviceUnavailable, "cuda:{}: {}", index, loaded.missing);
  Message message{};
  const int count = loaded.table->count(message.data(), message.size());
  require(count > 0, schema::ErrorCode::kDeviceUnavailable, "cuda:{}: {}", index, told_by(message, cuda.driver));
  require(index < count, schema::ErrorCode::kDeviceUnavailable, "cuda:{}: there are {} CUDA devices, the last is cuda:{}", index, count, count - 1);
  Device* const device = loaded.table->open(index, message.data(), message.size());
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
