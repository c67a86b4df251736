// CudaRuntime on the emulator: copies open its memory, and those to the host are counted.
#include "engine/backend/cuda/runtime.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "engine/backend/cuda/upload_ring.h"
#include "engine/backend/emulated/emulator.h"
#include "engine/backend/emulated/host_watch.h"
#include "engine/backend/emulated/observer.h"
#include "engine/backend/emulated/recording.h"

namespace kedge::engine {
namespace {

void see(emulated::Copy kind, std::size_t bytes) {
  if (emulated::observer) emulated::observer->copied(kind, bytes);
}

void see_wait() {
  if (emulated::observer) emulated::observer->waited();
}

// Streams of one GPU count together.
void count(std::int64_t& counter, std::size_t more) {
  std::atomic_ref(counter) += static_cast<std::int64_t>(more);
}

// As late as a GPU may be: see DeviceMemory::copy_late().
class LateCopies final : public AsyncCopies {
 public:
  explicit LateCopies(emulated::DeviceMemory& memory) : memory_(memory) {}
  void* allocate_pinned(std::size_t bytes) override { return std::malloc(bytes); }
  void free_pinned(void* p) noexcept override { std::free(p); }
  void start(void* device, const void* pinned, std::size_t bytes) override {
    memory_.copy_late(device, const_cast<void*>(pinned), bytes);
  }
  void mark(std::size_t) override {}
  void await(std::size_t) override { const emulated::DeviceAccess access(memory_); }
  void copy_now(void* device, const void* host, std::size_t bytes) override {
    const emulated::DeviceAccess access(memory_);
    std::memcpy(device, host, bytes);
  }

 private:
  emulated::DeviceMemory& memory_;
};

}   // namespace

struct CudaRuntime::Impl {
  DeviceInfo info{.kind = DeviceKind::kEmulated};
  emulated::Emulator emulator;
  LateCopies copies{emulator.memory};
  UploadRing ring{copies};
  emulated::Recording* recording = nullptr;   // that is being made
  const bool is_beside = false;
  std::uint64_t streams = 1;   // on this GPU, for the next one's seed
  Impl(std::uint64_t seed, const emulated::GpuModel& model) : emulator(seed, model) {
    info.name = model.name, info.memory_bytes = static_cast<std::int64_t>(model.memory_bytes);
  }
  explicit Impl(Impl& beside) : info(beside.info), emulator(++beside.streams, beside.emulator), is_beside(true) {}
};

CudaRuntime::CudaRuntime(const Options& options)
    : impl_(options.beside
                ? std::make_unique<Impl>(*options.beside->impl_)
                : std::make_unique<Impl>(options.seed, options.model ? *options.model : emulated::usual_model())) {
  if (!options.beside) impl_->info.index = options.index;
}
CudaRuntime::~CudaRuntime() = default;

void* CudaRuntime::allocate(std::size_t bytes) {
  const emulated::InPlaceOfGpu here;
  if (emulated::observer) emulated::observer->allocated(bytes);
  return impl_->recording ? impl_->recording->allocate(bytes) : impl_->emulator.memory.allocate(bytes);
}
void CudaRuntime::deallocate(void* p) noexcept {
  const emulated::InPlaceOfGpu here;
  if (impl_->recording) impl_->recording->deallocate(p);
  else impl_->emulator.memory.deallocate(p);
}
void CudaRuntime::to_device(void* device, const void* host, std::size_t bytes) {
  impl_->emulator.refuse_in_recording("an upload: its bytes may be others when it runs");
  impl_->ring.upload(device, host, bytes);
  count(impl_->emulator.memory.bytes_to_device, bytes);
  see(emulated::Copy::kToDevice, bytes);
}
void CudaRuntime::to_host(void* host, const void* device, std::size_t bytes) {
  impl_->emulator.refuse_in_recording("a copy to the host");
  const emulated::DeviceAccess access(impl_->emulator.memory);
  std::memcpy(host, device, bytes);
  count(impl_->emulator.memory.syncs, 1);
  count(impl_->emulator.memory.bytes_to_host, bytes);
  see(emulated::Copy::kToHost, bytes);
}
void CudaRuntime::copy(void* to, const void* from, std::size_t bytes) {
  impl_->emulator.put([&memory = impl_->emulator.memory, to, from, bytes] {
    const emulated::DeviceAccess access(memory);
    std::memmove(to, from, bytes);
    see(emulated::Copy::kWithin, bytes);
  });
}
void CudaRuntime::zero(void* p, std::size_t bytes) {
  impl_->emulator.put([&memory = impl_->emulator.memory, p, bytes] {
    const emulated::DeviceAccess access(memory);
    std::memset(p, 0, bytes);
    see(emulated::Copy::kZero, bytes);
  });
}
void CudaRuntime::synchronize() {
  impl_->emulator.refuse_in_recording("a wait");
  const emulated::DeviceAccess access(impl_->emulator.memory);
  count(impl_->emulator.memory.syncs, 1);
  see_wait();
}

std::int64_t CudaRuntime::free_bytes() const {
  const emulated::DeviceMemory& memory = impl_->emulator.memory;
  return static_cast<std::int64_t>(memory.limit_bytes() - (memory.limit_bytes() > 0 ? memory.own_bytes() : 0));
}
void CudaRuntime::trim() {}

std::size_t CudaRuntime::upload_bytes() const {
  return impl_->ring.buffer_bytes();
}
void CudaRuntime::upload(void* device, std::size_t bytes, const std::function<void(std::byte*)>& write) {
  impl_->emulator.refuse_in_recording("an upload: its bytes may be others when it runs");
  impl_->ring.upload(device, bytes, write);
  count(impl_->emulator.memory.bytes_to_device, bytes);
  see(emulated::Copy::kToDevice, bytes);
}

bool CudaRuntime::is_beside() const {
  return impl_->is_beside;
}
void CudaRuntime::begin_work() {}
void CudaRuntime::end_work() noexcept {
  synchronize();
}
std::unique_ptr<RecordedSteps> CudaRuntime::record(const std::function<void()>& ops) {
  auto made = std::make_unique<emulated::Recording>(impl_->emulator);
  emulated::Recording* const outer = std::exchange(impl_->recording, made.get());
  try {
    made->keep(ops);
  } catch (...) {
    impl_->recording = outer;
    throw;
  }
  impl_->recording = outer;
  return made;
}
int CudaRuntime::usual_lanes() const {
  return 1;
}

const DeviceInfo& CudaRuntime::info() const { return impl_->info; }
int CudaRuntime::multiprocessors() const {
  return impl_->emulator.check.model().multiprocessors;
}
std::size_t CudaRuntime::max_shared_bytes() const {
  return impl_->emulator.check.model().max_shared_bytes;
}
unsigned CudaRuntime::max_grid_rows() const {
  return impl_->emulator.check.model().max_grid_rows;
}

void* CudaRuntime::stream() const { return &impl_->emulator; }
void CudaRuntime::check_launch(const char*) const {}   // the emulator has thrown already
void CudaRuntime::allow_shared(const void* kernel, const char* name, std::size_t bytes) const {
  impl_->emulator.check.allow_shared(kernel, name, bytes);
}

}  // namespace kedge::engine
