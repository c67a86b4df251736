// CudaRuntime on the emulator: copies open its memory, and those to the host are counted.
#include "engine/backend/cuda/runtime.h"

#include <fmt/core.h>

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

void* CudaRuntime::allocate(std::size_t bytes) { return impl_->emulator.memory.allocate(bytes); }
void CudaRuntime::deallocate(void* p) noexcept { impl_->emulator.memory.deallocate(p); }
void CudaRuntime::to_device(void* device, const void* host, std::size_t bytes) {
  const emulated::DeviceAccess access(impl_->emulator.memory);
  std::memcpy(device, host, bytes);
}
void CudaRuntime::to_host(void* host, const void* device, std::size_t bytes) {
  const emulated::DeviceAccess access(impl_->emulator.memory);
  std::memcpy(host, device, bytes);
  ++impl_->emulator.memory.syncs;
}
void CudaRuntime::copy(void* to, const void* from, std::size_t bytes) {
  const emulated::DeviceAccess access(impl_->emulator.memory);
  std::memmove(to, from, bytes);
}
void CudaRuntime::zero(void* p, std::size_t bytes) {
  const emulated::DeviceAccess access(impl_->emulator.memory);
  std::memset(p, 0, bytes);
}
void CudaRuntime::synchronize() { ++impl_->emulator.memory.syncs; }

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
