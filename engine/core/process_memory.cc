// Reads /proc/self, /proc/meminfo and the control group's files.
#include "engine/core/process_memory.h"

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace kedge::engine {
namespace {

constexpr const char* kStatus = "/proc/self/status";
constexpr std::size_t kWorthGivingBack = 16 << 20;   // less is kept for the next small job, which would fault each page in again
constexpr std::chrono::seconds kLooksAgain{1};
constexpr std::int64_t kAlways = std::int64_t{256} << 20;   // so that a small job is tried however little there seems to be
constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

// The number behind `key` on its line of a file; without a key, the file's first. Nothing where there is none.
std::optional<std::int64_t> number_in(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const char* const from = line.c_str() + key.size();
    char* end = nullptr;
    const std::int64_t number = std::strtoll(from, &end, 10);
    return end == from ? std::nullopt : std::optional(number);   // "max"
  }
  return std::nullopt;
}

std::int64_t status_bytes(std::string_view key) {
  return number_in(kStatus, key).value_or(0) << 10;
}

std::int64_t left_of_machine() {
  const auto kib = number_in("/proc/meminfo", "MemAvailable:");
  return kib ? *kib << 10 : kUnbounded;
}

// A version of control groups, as the group of this process shows itself inside its container.
struct GroupFiles {
  const char *most, *used, *statistics;
  std::string_view cached;
};

std::int64_t left_of_group(const GroupFiles& files) {
  const auto most = number_in(files.most, ""), used = number_in(files.used, "");
  if (!most || !used) return kUnbounded;
  const std::int64_t cached = std::min(*used, number_in(files.statistics, files.cached).value_or(0));
  return std::max<std::int64_t>(0, *most - (*used - cached));
}

// Where version 1 bounds nothing it says a number near 2^63, and so does this.
std::int64_t left_of_group() {
  constexpr GroupFiles kVersion2{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "file "};
  constexpr GroupFiles kVersion1{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                                 "/sys/fs/cgroup/memory/memory.stat", "total_cache "};
  return std::min(left_of_group(kVersion2), left_of_group(kVersion1));
}

std::int64_t left_of_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnbounded;
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - status_bytes("VmSize:"));
}

// RLIMIT_DATA counts what can be written to, and so neither mapped files nor what allocators and drivers only reserve.
bool set_bound(rlim_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return false;
  limit.rlim_cur = std::min(limit.rlim_max, bytes);
  return ::setrlimit(RLIMIT_DATA, &limit) == 0;
}

// The bound that there was, unless none could be set.
std::optional<rlim_t> bound_memory(std::int64_t more) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return std::nullopt;
  const auto bytes = more == kUnbounded ? RLIM_INFINITY : static_cast<rlim_t>(status_bytes("VmData:") + more);
  return set_bound(bytes) ? std::optional(limit.rlim_cur) : std::nullopt;
}

}   // namespace

ProcessMemory process_memory() {
  return {.held = status_bytes("VmRSS:"), .peak = status_bytes("VmHWM:")};
}

void reset_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << '5';
}

std::int64_t available_memory() {
  return std::min({left_of_machine(), left_of_group(), left_of_address_space()});
}

void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 128 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

void give_back_freed_memory() {
  if (::mallinfo2().fordblks >= kWorthGivingBack) ::malloc_trim(0);
}

void renew_memory_bound() {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point last;   // long ago
  if (const Clock::time_point now = Clock::now(); now - last < kLooksAgain) return;
  else last = now;
  bound_memory(std::max(kAlways, available_memory()));
}

MemoryBound::MemoryBound(std::int64_t bytes) : former_(bound_memory(bytes)) {}

MemoryBound::~MemoryBound() {
  if (former_) set_bound(*former_);
}

}   // namespace kedge::engine
