// LittleMemory: a machine that has little, for the test's own process.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace kedge::engine {

// While it lives, the process may have so much address space more than it had, as a worker with --memory-limit may.
class LittleMemory {
 public:
  explicit LittleMemory(std::int64_t bytes) {
    std::ifstream sizes("/proc/self/statm");
    std::int64_t pages = 0;   // of the address space, the file's first number
    sizes >> pages;
    ::getrlimit(RLIMIT_AS, &former_);
    const rlimit bound{.rlim_cur = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes), .rlim_max = former_.rlim_max};
    ::setrlimit(RLIMIT_AS, &bound);
  }
  ~LittleMemory() { ::setrlimit(RLIMIT_AS, &former_); }
  LittleMemory(const LittleMemory&) = delete;

 private:
  rlimit former_{};
};

}   // namespace kedge::engine
