// CudaRuntime on the CUDA runtime: a stream, the device's own memory pool, and uploads through pinned memory.
#include "engine/backend/cuda/runtime.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

#include "engine/backend/cuda/native/check.h"
#include "engine/backend/cuda/native/copies.h"
#include "engine/backend/cuda/native/graph_steps.h"
#include "engine/backend/cuda/retry.h"

namespace kedge::engine {
namespace {

std::string driver_version() {
  int version = 0;
  KEDGE_CHECK(cudaDriverGetVersion(&version));
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

constexpr std::size_t kKeptBytes = std::size_t{256} << 20;   // between two jobs

constexpr int kMultiprocessorsOfLane = 16, kMostLanes = 8;

// Shared memory of a kernel, in bytes.
struct SharedUse {
  std::size_t declared = 0, allowed = 0;   // statically; dynamically
};

// What is allowed to kernels holds for the whole device, and so for all streams on it.
struct AllowedKernels {
  std::mutex guard;
  std::unordered_map<const void*, SharedUse> uses;
};

}  // namespace

struct CudaRuntime::Impl {
  DeviceInfo info{.kind = DeviceKind::kCuda};
  int multiprocessors = 0;
  std::size_t max_shared = 0;
  unsigned max_grid_rows = 0;
  std::shared_ptr<AllowedKernels> allowed = std::make_shared<AllowedKernels>();
  Impl* beside = nullptr;    // whose GPU this is another stream of
  bool is_at_work = false;   // of such a one
  bool is_recording = false;
  cudaEvent_t before_free = nullptr;
  cudaStream_t stream = nullptr;
  cudaMemPool_t pool = nullptr;
  StreamCopies copies{stream};
  UploadRing ring{copies};
  // What the capture of a stream cannot have, or what would run again with other bytes.
  void refuse_in_recording(const char* what) const {
    if (is_recording)
      throw schema::Error(schema::ErrorCode::kInternal, std::string("CUDA: a recording cannot have ") + what);
  }
  ~Impl() {
    if (!stream) return;
    cudaStreamSynchronize(stream);   // the ring's memory is read until then
    if (before_free) cudaEventDestroy(before_free);
    cudaStreamDestroy(stream);
  }
};

CudaRuntime::CudaRuntime(const Options& options) : impl_(std::make_unique<Impl>()) {
  if (options.beside) {
    Impl& other = *options.beside->impl_;
    impl_->info = other.info;
    impl_->multiprocessors = other.multiprocessors, impl_->max_shared = other.max_shared;
    impl_->max_grid_rows = other.max_grid_rows;
    impl_->allowed = other.allowed, impl_->pool = other.pool, impl_->beside = &other;
    KEDGE_CHECK(cudaSetDevice(other.info.index));
    KEDGE_CHECK(cudaStreamCreateWithFlags(&impl_->stream, cudaStreamNonBlocking));
    KEDGE_CHECK(cudaEventCreateWithFlags(&impl_->before_free, cudaEventDisableTiming));
    // A block that another stream has freed is taken once that stream is done with it, and not before: streams that
    // wait for each other would do their work one after the other.
    int waits = 0;
    KEDGE_CHECK(cudaMemPoolSetAttribute(impl_->pool, cudaMemPoolReuseAllowInternalDependencies, &waits));
    return;
  }
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
  if (!p) return;
  if (impl_->beside && !impl_->is_at_work) {
    cudaEventRecord(impl_->before_free, impl_->beside->stream);
    cudaStreamWaitEvent(impl_->stream, impl_->before_free);
  }
  static_cast<void>(
      cudaFreeAsync(p, impl_->stream));   // after an illegal access this fails, and the process is given up
}

void CudaRuntime::to_device(void* device, const void* host, std::size_t bytes) {
  impl_->refuse_in_recording("an upload");
  impl_->ring.upload(device, host, bytes);
}
void CudaRuntime::to_host(void* host, const void* device, std::size_t bytes) {
  impl_->refuse_in_recording("a copy to the host");
  KEDGE_CHECK(cudaMemcpyAsync(host, device, bytes, kByAddress, impl_->stream));
  synchronize();
}
void CudaRuntime::copy(void* to, const void* from, std::size_t bytes) {
  KEDGE_CHECK(cudaMemcpyAsync(to, from, bytes, kByAddress, impl_->stream));
}
void CudaRuntime::zero(void* p, std::size_t bytes) { KEDGE_CHECK(cudaMemsetAsync(p, 0, bytes, impl_->stream)); }
void CudaRuntime::synchronize() {
  impl_->refuse_in_recording("a wait");
  KEDGE_CHECK(cudaStreamSynchronize(impl_->stream));
}

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
  KEDGE_CHECK(cudaDeviceGraphMemTrim(impl_->info.index));   // what recordings had, which is not of the pool
}

std::size_t CudaRuntime::upload_bytes() const {
  return impl_->ring.buffer_bytes();
}
void CudaRuntime::upload(void* device, std::size_t bytes, const std::function<void(std::byte*)>& write) {
  impl_->refuse_in_recording("an upload");
  impl_->ring.upload(device, bytes, write);
}

bool CudaRuntime::is_beside() const {
  return impl_->beside;
}
void CudaRuntime::begin_work() {
  KEDGE_CHECK(cudaSetDevice(impl_->info.index));   // CUDA's current device belongs to a thread
  impl_->is_at_work = true;
}
void CudaRuntime::end_work() noexcept {
  static_cast<void>(cudaStreamSynchronize(impl_->stream));
  impl_->is_at_work = false;
}
std::unique_ptr<RecordedSteps> CudaRuntime::record(const std::function<void()>& ops) {
  impl_->refuse_in_recording("another recording");
  impl_->is_recording = true;
  try {
    std::unique_ptr<RecordedSteps> steps = capture_steps(impl_->stream, ops);
    impl_->is_recording = false;
    return steps;
  } catch (...) {
    impl_->is_recording = false;
    throw;
  }
}
int CudaRuntime::usual_lanes() const {
  return std::clamp(impl_->multiprocessors / kMultiprocessorsOfLane, 1, kMostLanes);
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
  const std::lock_guard lock(impl_->allowed->guard);
  const auto [found, is_new] = impl_->allowed->uses.try_emplace(kernel);
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
