// A plug-in built as libkedge_cuda.so is (hidden symbols, loaded at run time) whose memory is always full.
#include "engine/core/device.h"
#include "schemas/error.h"

namespace {

class FullMemory final : public kedge::engine::Memory {
 public:
  void* allocate(std::size_t) override { throw kedge::schema::Error(kedge::schema::ErrorCode::kOutOfMemory, "the plug-in's memory is full"); }
  void deallocate(void*) noexcept override {}
  void to_device(void*, const void*, std::size_t) override {}
  void to_host(void*, const void*, std::size_t) override {}
  void copy(void*, const void*, std::size_t) override {}
  void zero(void*, std::size_t) override {}
  void synchronize() override {}
};

}  // namespace

extern "C" __attribute__((visibility("default"))) kedge::engine::Memory* make_full_memory() { return new FullMemory; }
