// CudaRuntime on the CUDA runtime: one stream, the device's own memory pool, and uploads through pinned memory.
#include "engine/backend/cuda/runtime.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "engine/backend/cuda/native/check.h"
#include "engine/backend/cuda/native/copies.h"
#include "engine/backend/cuda/retry.h"

namespace kedge::engine {
namespace {

std::string driver_version() {
  int version = 0;
  KEDGE_CHECK(cudaDriverGetVersion(&version));
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

constexpr std::size_t kKeptBytes = std::size_t{256} << 20;   // between two jobs

// Shared memory of a kernel, in bytes.
struct SharedUse {
  std::size_t declared = 0, allowed = 0;   // statically; dynamically
};

}  // namespace

struct CudaRuntime::Impl {
  DeviceInfo info{.kind = DeviceKind::kCuda};
  int multiprocessors = 0;
  std::size_t max_shared = 0;
  unsigned max_grid_rows = 0;
  std::unordered_map<const void*, SharedUse> shared;   // by kernel
  cudaStream_t stream = nullptr;
  cudaMemPool_t pool = nullptr;
  StreamCopies copies{stream};
  UploadRing ring{copies};
  ~Impl() {
    if (!stream) return;
    cudaStreamSynchronize(stream);   // the ring's memory is read until then
    cudaStreamDestroy(stream);
  }
};

CudaRuntime::CudaRuntime(const Options& options) : impl_(std::make_unique<Impl>()) {
  KEDGE_CHECK(cudaSetDevice(options.index));
  cudaDeviceProp properties{};
  KEDGE_CHECK(cudaGetDeviceProperties(&properties, options.index));
  impl_->info.index = options.index;
  impl_->info.name = properties.name;
  impl_->info.driver = driver_version();
  impl_->info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  impl_->multiprocessors = properties.multiProcessorCount;
  impl_->max_shared = properties.sharedMemPerBlockOptin;
  impl_->max_grid_rows = static_cast<unsigned>(std::min(properties.maxGridSize[1], properties.maxGridSize[2]));
  KEDGE_CHECK(cudaStreamCreateWithFlags(&impl_->stream, cudaStreamNonBlocking));
  KEDGE_CHECK(cudaDeviceGetDefaultMemPool(&impl_->pool, options.index));
  // So much of freed memory stays with the process when it waits: the next fold asks for the same again. The rest goes
  // back, so that other processes and the vendor's libraries can have it.
  std::uint64_t keep = properties.totalGlobalMem / 4;
  KEDGE_CHECK(cudaMemPoolSetAttribute(impl_->pool, cudaMemPoolAttrReleaseThreshold, &keep));
}
CudaRuntime::~CudaRuntime() = default;

void* CudaRuntime::allocate(std::size_t bytes) {
  cudaError_t status = cudaSuccess;
  const auto allocate_once = [&]() -> void* {
    void* p = nullptr;
    status = cudaMallocAsync(&p, bytes ? bytes : 1, impl_->stream);
    return status == cudaSuccess ? p : nullptr;
  };
  const auto trim_pool = [&] {
    if (status != cudaErrorMemoryAllocation) return;
    cudaGetLastError();
    synchronize();   // what is freed on the stream is free now
    KEDGE_CHECK(cudaMemPoolTrimTo(impl_->pool, 0));
  };
  void* const p = allocate_or_trim(allocate_once, trim_pool);
  if (!p) check(status, fmt::format("allocating {} bytes on {}", bytes, impl_->info.name).c_str());
  return p;
}
void CudaRuntime::deallocate(void* p) noexcept {
  if (p) static_cast<void>(cudaFreeAsync(p, impl_->stream));   // after an illegal access this fails, and the process is given up
}

void CudaRuntime::to_device(void* device, const void* host, std::size_t bytes) {
  impl_->ring.upload(device, host, bytes);
}
void CudaRuntime::to_host(void* host, const void* device, std::size_t bytes) {
  KEDGE_CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, impl_->stream));
  synchronize();
}
void CudaRuntime::copy(void* to, const void* from, std::size_t bytes) {
  KEDGE_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, impl_->stream));
}
void CudaRuntime::zero(void* p, std::size_t bytes) { KEDGE_CHECK(cudaMemsetAsync(p, 0, bytes, impl_->stream)); }
void CudaRuntime::synchronize() { KEDGE_CHECK(cudaStreamSynchronize(impl_->stream)); }

std::int64_t CudaRuntime::free_bytes() const {
  std::size_t free = 0, total = 0;
  KEDGE_CHECK(cudaMemGetInfo(&free, &total));
  std::uint64_t reserved = 0, used = 0;   // by the pool
  KEDGE_CHECK(cudaMemPoolGetAttribute(impl_->pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  KEDGE_CHECK(cudaMemPoolGetAttribute(impl_->pool, cudaMemPoolAttrUsedMemCurrent, &used));
  return static_cast<std::int64_t>(free + (reserved - used));
}

void CudaRuntime::trim() {
  synchronize();   // what is freed on the stream is free now
  KEDGE_CHECK(cudaMemPoolTrimTo(impl_->pool, kKeptBytes));
}

std::size_t CudaRuntime::upload_bytes() const {
  return impl_->ring.buffer_bytes();
}
void CudaRuntime::upload(void* device, std::size_t bytes, const std::function<void(std::byte*)>& write) {
  impl_->ring.upload(device, bytes, write);
}

const DeviceInfo& CudaRuntime::info() const { return impl_->info; }
int CudaRuntime::multiprocessors() const { return impl_->multiprocessors; }
std::size_t CudaRuntime::max_shared_bytes() const { return impl_->max_shared; }
unsigned CudaRuntime::max_grid_rows() const {
  return impl_->max_grid_rows;
}

void* CudaRuntime::stream() const { return impl_->stream; }
void CudaRuntime::check_launch(const char* kernel) const { check(cudaGetLastError(), kernel); }

// What a kernel declares counts as well. A kernel is looked up once, and raised only when a launch asks for more than
// those before.
void CudaRuntime::allow_shared(const void* kernel, const char* name, std::size_t bytes) const {
  const auto [found, is_new] = impl_->shared.try_emplace(kernel);
  SharedUse& use = found->second;
  if (is_new) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), name);
    use = {.declared = attributes.sharedSizeBytes, .allowed = 0};
    use.allowed = kPlainSharedBytes - std::min(kPlainSharedBytes, use.declared);
  }
  if (bytes <= use.allowed) return;
  if (use.declared + bytes > impl_->max_shared)
    throw schema::Error(schema::ErrorCode::kInternal,
                        fmt::format("kernel {}: {} bytes of shared memory and {} that it declares, {} has {}", name,
                                    bytes, use.declared, impl_->info.name, impl_->max_shared));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)), name);
  use.allowed = bytes;
}

}  // namespace kedge::engine
