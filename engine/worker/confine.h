// What a worker gives up before it sees a job: memory without bound, core files, the network, other programs, files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace kedge::engine {

// No core files, few descriptors, files of at most 16 GiB. More than that is then an error at the call that needs it.
void limit_resources();

// From now on at most so many bytes of address space more than the process has (not for a worker with a GPU: CUDA
// reserves more than any machine has memory). Call it when the device is open: OpenBLAS retries forever when it cannot
// have a buffer.
void limit_memory(std::int64_t bytes);

// A network namespace without interfaces, where the system allows one. Before the process has a second thread.
void leave_network() noexcept;

// Landlock: from now on this thread, and every thread that it starts, opens no file but those below `own`, the system's libraries and what the
// system says of this process and its machine; and reads no other process's memory. What is open stays open. Before the process has a
// second thread. Empty, or why the system does not allow it. Not for a worker with a GPU, whose driver opens files of its own at any time.
std::string confine_files(const std::filesystem::path& own);

// A seccomp filter for all threads: sockets other than local ones are EACCES, new programs and processes, tracing, io_uring and
// mounts EPERM. Empty, or why the system does not allow it.
enum class NetworkUse { kNone, kKept };   // ranks of a group reach each other by TCP at any time
std::string deny_system_calls(NetworkUse network = NetworkUse::kNone);

}  // namespace kedge::engine
