// What a worker gives up before it sees a job: memory without bound, core files, the network, other programs.
#pragma once

#include <cstdint>
#include <string>

namespace kedge::engine {

// No core files, few descriptors, files of at most 16 GiB, and for memory_bytes > 0 at most so much address space (not for a
// worker with a GPU: CUDA reserves more address space than any machine has memory). What cannot be had is then an error where it
// is asked for.
void limit_resources(std::int64_t memory_bytes);

// A network namespace without interfaces, where the system allows one. Before the process has a second thread.
void leave_network() noexcept;

// A seccomp filter for all threads: sockets other than local ones are EACCES, new programs and processes, tracing, io_uring and
// mounts EPERM. Empty, or why the system does not allow it.
std::string deny_system_calls();

}  // namespace kedge::engine
