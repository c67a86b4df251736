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

// Bytes that can be allocated before the system kills a process: the least of what the machine has, what the control
// group leaves (cached files do not count), and what a bound on the address space leaves. Cost: some 100 us.
std::int64_t available_memory();

// From now on freed memory stays with the process, blocks of up to 128 MiB, and up to 256 MiB at the end of each heap:
// otherwise the kernel would clear what the next fold allocates, which takes a tenth of a forest's job.
void keep_freed_memory();
// Returns what was kept to the system, as after a job, if it is 16 MiB or more.
void give_back_freed_memory();

// From now on the process may have no more private memory than is available now, and 256 MiB in any case: an allocation
// of more throws std::bad_alloc, and the system kills nothing. Looks at most once a second. Cost: some 150 us.
void renew_memory_bound();

// While it lives, the process may have so many bytes of private memory more than it had. Replaces an older bound.
class MemoryBound {
 public:
  explicit MemoryBound(std::int64_t bytes);
  ~MemoryBound();
  MemoryBound(const MemoryBound&) = delete;

 private:
  std::optional<std::uint64_t> former_;   // unless none could be set
};

}   // namespace kedge::engine
