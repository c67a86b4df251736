// Ranks that are threads of one process: what tests run, also under the thread sanitizer.
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/comm.h"

namespace kedge::engine {

// One communicator for each of `size` threads. They refuse what MPI would not notice: calls that differ between ranks
// and sums that overflow end all ranks, as abort() does. From then on every call of every rank throws that error.
std::vector<std::unique_ptr<Comm>> make_thread_comms(int size);

}   // namespace kedge::engine
