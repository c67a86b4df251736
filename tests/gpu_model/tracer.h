// Counts what kernels do while the emulator runs them: memory by level, banks of shared memory, operations by type, and
// the longest chain of one thread. The kernels of this program are compiled with calls at every access and every basic
// block.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/backend/emulated/emulator.h"
#include "engine/backend/emulated/host_watch.h"
#include "engine/backend/emulated/observer.h"
#include "tests/gpu_model/instructions.h"

namespace kedge::gpu_model {

// What all launches of a kernel, or all calls of a library function, have done together.
struct Counts {
  double launches = 0, blocks = 0, warps = 0;   // launches: that the host started by themselves
  double nodes = 0;                             // launches of recorded steps, which the host starts many of by one call
  double all_launches() const { return launches + nodes; }
  double active = 0;           // threads that reach global memory
  double requests = 0;         // of a warp, to global memory
  double sectors = 0;          // of 32 bytes that these requests touch: what the first-level cache serves
  double ideal_sectors = 0;    // that the same bytes would need side by side
  double block_sectors = 0;    // different ones in a block: what the second-level cache serves
  double launch_sectors = 0;   // different ones in a launch: what memory serves
  double shared_passes = 0, ideal_shared_passes = 0;
  double atomics = 0;                     // on global memory
  double f32 = 0, f64 = 0, special = 0;   // operations; special: division and square root
  double tensor = 0;                      // operations of tensor units
  double instructions = 0;                // of threads
  double chain = 0;                       // accesses to global memory by the thread with the most, summed over launches
  double library_bytes = 0;
};

// What crosses between host and device.
struct Flow {
  double to_device = 0, to_host = 0, copies = 0, waits = 0, allocations = 0, allocated_bytes = 0;
  double within = 0;   // bytes that copies and fills on the device write
  double recordings = 0;     // calls that started recorded steps
  double host_seconds = 0;   // of this machine's processors, all threads together: what the host computes itself
};

struct Trace {
  std::map<std::string, Counts> kernels;   // by name; a library's function as "cublas gemm f32"
  Flow flow;
};

class Tracer final : public engine::emulated::Observer, public engine::emulated::HostWatch {
 public:
  explicit Tracer(const InstructionTable& instructions) : instructions_(instructions) {}

  Trace take();   // what was counted since the last time

  // From the compiled-in calls, inside a kernel.
  void access(const void* pc, const void* p, unsigned bytes);
  void basic_block(const void* pc);

  void launch_begins(const engine::emulated::Launch& launch, const void* region, const void* shared) override;
  void block_begins() override;
  void block_meets() override;
  void launch_ends() override;
  void atomic(const void* p, std::size_t bytes) override;
  void library(const char* what, std::size_t value_bytes, double operations, double bytes) override;
  void copied(engine::emulated::Copy kind, std::size_t bytes) override;
  void waited() override { flow_().waits += 1; }
  void recording_begins() override { is_recording_ = true, flow_().recordings += 1; }
  void recording_ends() override { is_recording_ = false; }
  void allocated(std::size_t bytes) override;
  void enters() override;
  void leaves() override;

 private:
  static constexpr unsigned kLanes = 32;
  // One instruction of one warp, executed once: the k-th time by each of its lanes.
  struct Request {
    std::array<std::uintptr_t, kLanes> address;
    std::uint32_t lanes = 0;
  };
  struct Instruction {
    unsigned bytes = 0;
    std::array<std::uint32_t, kLanes> times{};
    std::vector<Request> requests;
  };
  using Warp = std::unordered_map<const void*, Instruction>;
  // Sectors that were touched, a bit each from the lowest address on.
  struct Touched {
    std::vector<std::uint64_t> bits;
    std::vector<std::size_t> words;    // those that are not zero
    bool add(std::uintptr_t sector);   // whether it is new
    void clear();
  };
  enum class Space { kGlobal, kShared, kOther };

  Flow& flow_() { return trace_.flow; }
  void add_host_seconds();
  Space space_of(std::uintptr_t address) const;
  void count_global(const Instruction& instruction, const Request& request);
  void count_shared(const Instruction& instruction, const Request& request);
  void count_threads();

  const InstructionTable& instructions_;
  Trace trace_;
  Counts* current_ = nullptr;   // of the kernel that runs
  std::vector<Warp> warps_;
  std::vector<std::uint32_t> accesses_;   // to global memory, by thread of the block
  double longest_ = 0;
  Touched in_block_, in_launch_;
  std::unordered_map<const void*, std::uint64_t> blocks_run_;
  std::uintptr_t region_ = 0, shared_ = 0, shared_end_ = 0;
  bool is_recording_ = false;   // recorded steps run
  int depth_ = 0;        // of what the emulator does in the GPU's place
  double left_at_ = 0;   // when the host went on, in seconds of the process
};

inline Tracer* tracer = nullptr;   // whom the compiled-in calls reach

}   // namespace kedge::gpu_model
