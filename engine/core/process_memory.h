// How much memory this process holds, held at most, and can still have.
#pragma once

#include <cstdint>
#include <optional>

namespace kedge::engine {

// Resident bytes, mapped files included.
struct ProcessMemory {
  std::int64_t held = 0;   // now
  std::int64_t peak = 0;   // the most since reset_peak_memory()
};

// Of /proc/self; zeros where it cannot be read. Cost: some 30 us.
ProcessMemory process_memory();
void reset_peak_memory();

// Bytes that can be had without somebody being killed for it: the machine's, what the control group leaves beside cached files,
// and what a bound on the address space leaves. Cost: some 100 us.
std::int64_t available_memory();

// From now on freed memory stays with the process, blocks of up to 128 MiB, and up to 256 MiB at the end of each heap: what the
// next fold allocates would else be cleared by the kernel again, a tenth of a forest's job.
void keep_freed_memory();
// Gives what was kept back, as after a job, if it is 16 MiB or more.
void give_back_freed_memory();

// From now on the process may have no more private memory than is available now, and 256 MiB in any case: who asks for more gets
// std::bad_alloc, not the system's killer. Looks once a second at most, as between two jobs. Cost: some 150 us.
void renew_memory_bound();

// While it lives, the process may have so many bytes of private memory more than it had, whatever bound was set. One at a time.
class MemoryBound {
 public:
  explicit MemoryBound(std::int64_t bytes);
  ~MemoryBound();
  MemoryBound(const MemoryBound&) = delete;

 private:
  std::optional<std::uint64_t> former_;   // unless none could be set
};

}   // namespace kedge::engine
