// CudaRuntime on the emulator: device memory is plain host memory, each block of it exactly as large as asked for.
#include "engine/backend/cuda/runtime.h"

#include <fmt/core.h>

#include <cstdlib>
#include <cstring>

#include "engine/backend/emulated/emulator.h"
#include "schemas/error.h"

namespace kedge::engine {

struct CudaRuntime::Impl {
  DeviceInfo info{.kind = DeviceKind::kEmulated, .name = "emulated GPU"};
  emulated::Emulator emulator;
  explicit Impl(std::uint64_t seed) : emulator(seed) {}
};

CudaRuntime::CudaRuntime(const Options& options) : impl_(std::make_unique<Impl>(options.seed)) {
  impl_->info.index = options.index;
}
CudaRuntime::~CudaRuntime() = default;

void* CudaRuntime::allocate(std::size_t bytes) {
  void* p = nullptr;
  if (posix_memalign(&p, 256, bytes ? bytes : 1) != 0)
    throw schema::Error(schema::ErrorCode::kOutOfMemory, fmt::format("emulated GPU: no memory for {} bytes", bytes));
  std::memset(p, 0xFF, bytes);   // NaN in both widths: whoever reads what nobody wrote will see it
  return p;
}
void CudaRuntime::deallocate(void* p) noexcept { std::free(p); }
void CudaRuntime::to_device(void* device, const void* host, std::size_t bytes) { std::memcpy(device, host, bytes); }
void CudaRuntime::to_host(void* host, const void* device, std::size_t bytes) { std::memcpy(host, device, bytes); }
void CudaRuntime::copy(void* to, const void* from, std::size_t bytes) { std::memmove(to, from, bytes); }
void CudaRuntime::zero(void* p, std::size_t bytes) { std::memset(p, 0, bytes); }
void CudaRuntime::synchronize() {}

const DeviceInfo& CudaRuntime::info() const { return impl_->info; }
int CudaRuntime::multiprocessors() const { return 4; }
std::size_t CudaRuntime::max_shared_bytes() const { return 99 * 1024; }   // the least of compute capability 8.x

void* CudaRuntime::stream() const { return &impl_->emulator; }
void CudaRuntime::check_launch(const char*) const {}   // the emulator has thrown already
void CudaRuntime::allow_shared(const void*, const char* name, std::size_t bytes) const {
  if (bytes > max_shared_bytes())
    throw schema::Error(schema::ErrorCode::kInternal,
                        fmt::format("kernel {}: {} bytes of shared memory, at most {}", name, bytes, max_shared_bytes()));
}

}  // namespace kedge::engine
