// CudaRuntime on the CUDA runtime: one stream, and the device's own memory pool.
#include "engine/backend/cuda/runtime.h"

#include <fmt/core.h>

#include "engine/backend/cuda/native/check.h"

namespace kedge::engine {
namespace {

std::string driver_version() {
  int version = 0;
  KEDGE_CHECK(cudaDriverGetVersion(&version));
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

struct CudaRuntime::Impl {
  DeviceInfo info{.kind = DeviceKind::kCuda};
  int multiprocessors = 0;
  std::size_t max_shared = 0;
  cudaStream_t stream = nullptr;
  ~Impl() {
    if (stream) cudaStreamDestroy(stream);
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
  KEDGE_CHECK(cudaStreamCreateWithFlags(&impl_->stream, cudaStreamNonBlocking));
  cudaMemPool_t pool = nullptr;
  KEDGE_CHECK(cudaDeviceGetDefaultMemPool(&pool, options.index));
  std::uint64_t keep = ~std::uint64_t{0};   // freed memory stays with the process: the next fold asks for the same again
  KEDGE_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
}
CudaRuntime::~CudaRuntime() = default;

void* CudaRuntime::allocate(std::size_t bytes) {
  void* p = nullptr;
  const cudaError_t status = cudaMallocAsync(&p, bytes ? bytes : 1, impl_->stream);
  if (status != cudaSuccess) check(status, fmt::format("allocating {} bytes on {}", bytes, impl_->info.name).c_str());
  return p;
}
void CudaRuntime::deallocate(void* p) noexcept {
  if (p) static_cast<void>(cudaFreeAsync(p, impl_->stream));   // after an illegal access this fails, and the process is given up
}

// From pageable memory: returns once the host bytes have been taken.
void CudaRuntime::to_device(void* device, const void* host, std::size_t bytes) {
  KEDGE_CHECK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, impl_->stream));
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

const DeviceInfo& CudaRuntime::info() const { return impl_->info; }
int CudaRuntime::multiprocessors() const { return impl_->multiprocessors; }
std::size_t CudaRuntime::max_shared_bytes() const { return impl_->max_shared; }

void* CudaRuntime::stream() const { return impl_->stream; }
void CudaRuntime::check_launch(const char* kernel) const { check(cudaGetLastError(), kernel); }
void CudaRuntime::allow_shared(const void* kernel, const char* name, std::size_t bytes) const {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)), name);
}

}  // namespace kedge::engine
