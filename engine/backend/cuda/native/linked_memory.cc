// Linked memory on the CUDA runtime: pinned pages of the host, mapped at one address for host and GPU.
#include "engine/backend/cuda/linked_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "engine/backend/cuda/native/check.h"

namespace kedge::engine {
namespace {

class PinnedMemory final : public LinkedMemory {
 public:
  explicit PinnedMemory(CudaRuntime& runtime) : runtime_(runtime) {}

  void* allocate(std::size_t bytes) override {
    void *host = nullptr, *device = nullptr;
    const std::string what =
        fmt::format("allocating {} bytes of host memory that {} reads", bytes, runtime_.info().name);
    check(cudaHostAlloc(&host, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable | cudaHostAllocMapped),
          what.c_str());
    try {
      check(cudaHostGetDevicePointer(&device, host, 0), what.c_str());
      if (device != host)
        throw schema::Error(schema::ErrorCode::kInternal, what + ": it has another address on the GPU");
    } catch (...) {
      cudaFreeHost(host);
      throw;
    }
    return host;
  }
  void deallocate(void* p) noexcept override {
    if (!p) return;
    // Any stream may read it. After an illegal access both fail, and the process is given up.
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaFreeHost(p));
  }
  void to_device(void* linked, const void* host, std::size_t bytes) override {
    runtime_.synchronize();
    std::memcpy(linked, host, bytes);
  }
  void to_host(void* host, const void* linked, std::size_t bytes) override {
    runtime_.synchronize();
    std::memcpy(host, linked, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override { runtime_.copy(to, from, bytes); }
  void zero(void* p, std::size_t bytes) override { runtime_.zero(p, bytes); }
  void synchronize() override { runtime_.synchronize(); }
  void write(void* linked, std::size_t bytes, const std::function<void(std::byte*)>& write) override {
    static_cast<void>(bytes);
    runtime_.synchronize();
    write(static_cast<std::byte*>(linked));
  }

 private:
  CudaRuntime& runtime_;
};

}   // namespace

std::unique_ptr<LinkedMemory> make_linked_memory(CudaRuntime& runtime) {
  return std::make_unique<PinnedMemory>(runtime);
}

}   // namespace kedge::engine
