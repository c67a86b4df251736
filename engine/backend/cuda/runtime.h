// What the host side of every kernel file needs of a GPU: its memory, one stream, its size. Two bodies:
// native/runtime.cc on the CUDA runtime, and emulated/runtime.cc on the fiber emulator.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "engine/core/gpu_memory.h"

namespace kedge::engine {

namespace emulated {
struct GpuModel;
}
class RecordedSteps;

inline constexpr std::size_t kPlainSharedBytes = 48 * 1024;   // of a block; more must be asked for, kernel by kernel

// One GPU and one stream on it. A resource; Array and Matrix allocate from it. Everything is ordered on the stream, so
// memory that is freed while a kernel still uses it is not given out again before that kernel has ended.
class CudaRuntime final : public Memory, public GpuMemory {
 public:
  struct Options {
    int index = 0;             // which GPU
    std::uint64_t seed = 1;    // emulated only: the order in which blocks and threads run
    const emulated::GpuModel* model = nullptr;   // emulated only: whose limits hold (gpu_models.h); null: usual_model()
    CudaRuntime* beside = nullptr;   // another stream on the GPU and the memory of this one, which outlives it; then
                                     // nothing else of these counts
  };

  explicit CudaRuntime(const Options& options);   // Errors: kDeviceUnavailable
  ~CudaRuntime() override;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* p) noexcept override;
  void to_device(void* device, const void* host, std::size_t bytes) override;
  void to_host(void* host, const void* device, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* p, std::size_t bytes) override;
  void synchronize() override;
  std::int64_t free_bytes() const override;   // emulated: unknown
  void trim() override;
  std::size_t upload_bytes() const override;
  void upload(void* device, std::size_t bytes, const std::function<void(std::byte*)>& write) override;

  // Whether it was made beside another. Of such a one: a thread begins to use it, and ends when all has been done. What
  // it has allocated and is freed before or after is freed behind the work of the other one, which may read it by then.
  bool is_beside() const;
  void begin_work();
  void end_work() noexcept;
  // See StepRecorder (engine/backend/recorded_steps.h). The thread that calls it is at work with this runtime.
  std::unique_ptr<RecordedSteps> record(const std::function<void()>& ops);
  int usual_lanes() const;   // streams that small fits keep the GPU busy with; emulated: 1

  const DeviceInfo& info() const;
  int multiprocessors() const;
  std::size_t max_shared_bytes() const;   // per block, dynamic and static together
  unsigned max_grid_rows() const;         // blocks that a grid may have in y, and in z

  void* stream() const;                          // cudaStream_t, or the Emulator
  void check_launch(const char* kernel) const;   // Errors: kInternal, naming the kernel
  // Declares that `kernel` will use `bytes` of dynamic shared memory; needed where they and its static ones are more
  // than kPlainSharedBytes. Errors: kInternal with the numbers, where a block of this GPU has not as much.
  void allow_shared(const void* kernel, const char* name, std::size_t bytes) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::engine
