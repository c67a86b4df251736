// The driver's functions. Faults: "no device", "memory" (of a device), "same GPU" (two devices have one name), "copy"
// (of a device).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/unit/comm/stand_in_gpu.h"

namespace kedge::stand_in {
namespace {

constexpr int kSuccess = 0, kInvalid = 1, kOutOfMemory = 2, kNoContext = 201, kNotReady = 600, kLaunchFailed = 719;
constexpr int kDevices = 8;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

std::mutex mutex;
Fault current;
std::map<std::uintptr_t, std::size_t> allocated;
int contexts[kDevices];
thread_local void* context = nullptr;

}   // namespace

Fault fault() {
  const std::lock_guard lock(mutex);
  return current;
}

bool is_fault(const char* what, int rank) {
  const Fault now = fault();
  return now.what == what && now.rank == rank;
}

Stream::Stream() : thread_([this](std::stop_token stop) { work_off(stop); }) {}

Stream::~Stream() {
  wait();
}

void Stream::push(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_all();
}

bool Stream::is_idle() {
  const std::lock_guard lock(mutex_);
  return work_.empty();
}

void Stream::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_.empty(); });
}

void Stream::work_off(std::stop_token stop) {
  for (std::unique_lock lock(mutex_); changed_.wait(lock, stop, [this] { return !work_.empty(); });) {
    lock.unlock();
    work_.front()();
    lock.lock();
    work_.pop_front();
    changed_.notify_all();
  }
}

bool is_device_memory(const void* pointer, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  const auto after = allocated.upper_bound(at);
  if (after == allocated.begin()) return false;
  const auto [begin, size] = *std::prev(after);
  return at + bytes <= begin + size;
}

bool has_context() {
  return context != nullptr;
}

int device_of_context() {
  return static_cast<int>(static_cast<int*>(context) - contexts);
}

}   // namespace kedge::stand_in

using namespace kedge::stand_in;

extern "C" {

void stand_in_set(const char* what, int rank, int call) {
  const std::lock_guard lock(mutex);
  current = {.what = what, .rank = rank, .call = call};
}

// What is left on the devices, which is a leak where nobody uses them.
std::size_t stand_in_allocations() {
  const std::lock_guard lock(mutex);
  return allocated.size();
}

int cuInit(unsigned) {
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = fault().what == "no device" ? 0 : kDevices;
  return kSuccess;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return index >= 0 && index < kDevices ? kSuccess : kInvalid;
}
int cuDeviceGetUuid(unsigned char* uuid, int device) {
  std::memset(uuid, 0, 16);
  uuid[15] = static_cast<unsigned char>(fault().what == "same GPU" ? 0 : device);
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** out, int device) {
  *out = &contexts[device];
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return kSuccess;
}
int cuCtxSetCurrent(void* set) {
  context = set;
  return kSuccess;
}
int cuStreamCreate(void** stream, unsigned) {
  if (!has_context()) return kNoContext;
  *stream = new Stream;
  return kSuccess;
}
int cuStreamDestroy_v2(void* stream) {
  delete static_cast<Stream*>(stream);
  return kSuccess;
}
int cuStreamQuery(void* stream) {
  if (!has_context()) return kNoContext;
  return static_cast<Stream*>(stream)->is_idle() ? kSuccess : kNotReady;
}
int cuMemAlloc_v2(unsigned long long* pointer, std::size_t bytes) {
  if (!has_context()) return kNoContext;
  if (bytes > kMostBytes || is_fault("memory", device_of_context())) return kOutOfMemory;
  const auto made = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  const std::lock_guard lock(mutex);
  allocated[made] = bytes;
  *pointer = made;
  return kSuccess;
}
int cuMemFree_v2(unsigned long long pointer) {
  const std::lock_guard lock(mutex);
  if (allocated.erase(static_cast<std::uintptr_t>(pointer)) == 0) return kInvalid;
  std::free(reinterpret_cast<void*>(static_cast<std::uintptr_t>(pointer)));
  return kSuccess;
}
// As with memory that is not pinned, both wait for the stream.
int cuMemcpyHtoDAsync_v2(unsigned long long device, const void* host, std::size_t bytes, void* stream) {
  if (!has_context()) return kNoContext;
  void* const to = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device));
  if (!is_device_memory(to, bytes)) return kInvalid;
  if (is_fault("copy", device_of_context())) return kLaunchFailed;
  static_cast<Stream*>(stream)->push([=] { std::memcpy(to, host, bytes); });
  static_cast<Stream*>(stream)->wait();
  return kSuccess;
}
int cuMemcpyDtoHAsync_v2(void* host, unsigned long long device, std::size_t bytes, void* stream) {
  if (!has_context()) return kNoContext;
  const void* const from = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(device));
  if (!is_device_memory(from, bytes)) return kInvalid;
  static_cast<Stream*>(stream)->push([=] { std::memcpy(host, from, bytes); });
  static_cast<Stream*>(stream)->wait();
  return kSuccess;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == kOutOfMemory ? "out of memory"
          : code == kNoContext ? "invalid device context"
                               : "unspecified launch failure";
  return kSuccess;
}

}   // extern "C"
