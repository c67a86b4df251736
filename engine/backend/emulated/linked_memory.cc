// Linked memory on the emulator: blocks of the protected region, so that host code that touches them outside of write()
// and copies crashes as it would race on a GPU, and rubbish until they are written.
#include "engine/backend/cuda/linked_memory.h"

#include <cstring>

#include "engine/backend/emulated/emulator.h"
#include "engine/backend/emulated/observer.h"

namespace kedge::engine {
namespace {

class LinkedBlocks final : public LinkedMemory {
 public:
  explicit LinkedBlocks(CudaRuntime& runtime)
      : runtime_(runtime), memory_(static_cast<emulated::Emulator*>(runtime.stream())->memory) {}

  void* allocate(std::size_t bytes) override { return memory_.allocate_linked(bytes); }
  void deallocate(void* p) noexcept override {
    if (p) memory_.deallocate(p);
  }
  void to_device(void* linked, const void* host, std::size_t bytes) override {
    write(linked, bytes, [&](std::byte* to) { std::memcpy(to, host, bytes); });
  }
  void to_host(void* host, const void* linked, std::size_t bytes) override { runtime_.to_host(host, linked, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { runtime_.copy(to, from, bytes); }
  void zero(void* p, std::size_t bytes) override { runtime_.zero(p, bytes); }
  void synchronize() override { runtime_.synchronize(); }
  void write(void* linked, std::size_t, const std::function<void(std::byte*)>& write) override {
    const emulated::DeviceAccess access(memory_);
    write(static_cast<std::byte*>(linked));
    if (emulated::observer) emulated::observer->waited();
  }

 private:
  CudaRuntime& runtime_;
  emulated::DeviceMemory& memory_;
};

}   // namespace

std::unique_ptr<LinkedMemory> make_linked_memory(CudaRuntime& runtime) {
  return std::make_unique<LinkedBlocks>(runtime);
}

}   // namespace kedge::engine
