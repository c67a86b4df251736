// The few functions of the driver; their signatures are the same in every release since CUDA 4.
#include "engine/comm/cuda_stream.h"

#include <fmt/core.h>

#include <cstdint>
#include <vector>

#include "engine/comm/loaded_library.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr int kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;   // CUresult
constexpr unsigned kNonBlocking = 1;                             // CU_STREAM_NON_BLOCKING

using DevicePointer = unsigned long long;   // CUdeviceptr
using Uuid = std::array<unsigned char, 16>;

struct Driver {
  explicit Driver(const std::string& file) {
    const LoadedLibrary library("NVIDIA driver", file);
    library.find(init, "cuInit");
    library.find(device_count, "cuDeviceGetCount");
    library.find(device_get, "cuDeviceGet");
    library.find(device_uuid, "cuDeviceGetUuid");
    library.find(context_retain, "cuDevicePrimaryCtxRetain");
    library.find(context_release, "cuDevicePrimaryCtxRelease_v2");
    library.find(context_set, "cuCtxSetCurrent");
    library.find(stream_create, "cuStreamCreate");
    library.find(stream_destroy, "cuStreamDestroy_v2");
    library.find(stream_query, "cuStreamQuery");
    library.find(allocate, "cuMemAlloc_v2");
    library.find(free, "cuMemFree_v2");
    library.find(to_device, "cuMemcpyHtoDAsync_v2");
    library.find(to_host, "cuMemcpyDtoHAsync_v2");
    library.find(error_text, "cuGetErrorString");
  }

  int (*init)(unsigned);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_uuid)(Uuid*, int);
  int (*context_retain)(void**, int);
  int (*context_release)(int);
  int (*context_set)(void*);
  int (*stream_create)(void**, unsigned);
  int (*stream_destroy)(void*);
  int (*stream_query)(void*);
  int (*allocate)(DevicePointer*, std::size_t);
  int (*free)(DevicePointer);
  int (*to_device)(DevicePointer, const void*, std::size_t, void*);
  int (*to_host)(void*, DevicePointer, std::size_t, void*);
  int (*error_text)(int, const char**);

  std::string words(int code) const {
    const char* text = nullptr;
    return error_text(code, &text) == kSuccess && text ? text : fmt::format("error {}", code);
  }
};

DevicePointer number(const std::byte* pointer) {
  return static_cast<DevicePointer>(reinterpret_cast<std::uintptr_t>(pointer));
}

}   // namespace

struct CudaStream::Impl {
  Impl(const std::string& file, int index) : driver(file) {
    opened(driver.init(0), "cuInit");
    int count = 0;
    opened(driver.device_count(&count), "cuDeviceGetCount");
    if (index >= count)
      throw Error(ErrorCode::kDeviceUnavailable, fmt::format("there is no GPU {}: the machine has {}", index, count));
    opened(driver.device_get(&device, index), "cuDeviceGet");
    opened(driver.device_uuid(&uuid, device), "cuDeviceGetUuid");
    opened(driver.context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    try {
      opened(driver.context_set(context), "cuCtxSetCurrent");
      opened(driver.stream_create(&stream, kNonBlocking), "cuStreamCreate");
    } catch (const Error&) {
      driver.context_release(device);
      throw;
    }
  }
  ~Impl() {
    for (const DevicePointer pointer : allocated) driver.free(pointer);
    driver.stream_destroy(stream);
    driver.context_release(device);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void opened(int code, const char* function) const {
    if (code != kSuccess)
      throw Error(ErrorCode::kDeviceUnavailable, fmt::format("{}: {}", function, driver.words(code)));
  }
  void checked(int code, const char* function) const {
    if (code != kSuccess) throw Error(ErrorCode::kInternal, fmt::format("{}: {}", function, driver.words(code)));
  }

  Driver driver;
  int device = 0;
  Uuid uuid{};
  void* context = nullptr;
  void* stream = nullptr;
  std::vector<DevicePointer> allocated;
};

CudaStream::CudaStream(const std::string& driver, int device) : impl_(std::make_unique<Impl>(driver, device)) {}

CudaStream::~CudaStream() = default;

std::string CudaStream::name() const {
  std::string text = "GPU-";
  for (const unsigned char byte : impl_->uuid) text += fmt::format("{:02x}", byte);
  return text;
}

void* CudaStream::handle() const {
  return impl_->stream;
}

std::byte* CudaStream::allocate(std::size_t bytes) {
  DevicePointer pointer = 0;
  const int code = impl_->driver.allocate(&pointer, bytes);
  if (code == kOutOfMemory)
    throw Error(ErrorCode::kOutOfMemory, fmt::format("the GPU has no {} bytes free for messages", bytes));
  impl_->checked(code, "cuMemAlloc");
  impl_->allocated.push_back(pointer);
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(pointer));
}

void CudaStream::to_device(std::byte* device, const void* host, std::size_t bytes) {
  impl_->checked(impl_->driver.to_device(number(device), host, bytes, impl_->stream), "cuMemcpyHtoDAsync");
}

void CudaStream::to_host(void* host, const std::byte* device, std::size_t bytes) {
  impl_->checked(impl_->driver.to_host(host, number(device), bytes, impl_->stream), "cuMemcpyDtoHAsync");
}

bool CudaStream::is_idle() {
  const int code = impl_->driver.stream_query(impl_->stream);
  if (code == kNotReady) return false;
  impl_->checked(code, "cuStreamQuery");
  return true;
}

}   // namespace kedge::engine
