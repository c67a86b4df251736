// How ranks come together in NCCL, and how one waits for it and leaves it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "engine/comm/cuda_stream.h"
#include "engine/comm/nccl.h"
#include "engine/comm/nccl_table.h"

namespace kedge::engine {

// Looks again and again, without a busy core, until `is_done`. False: the limit has passed.
bool wait_until(const std::function<bool()>& is_done, std::chrono::milliseconds limit);

// Waits until the communicator has taken the last call: until then no other may be made. kInProgress: the limit has
// passed. Others than kSuccess: the error.
NcclResult settle(const NcclTable& nccl, void* comm, std::chrono::milliseconds limit);

// Ends a communicator after an error, within the limit: NCCL may wait for ever for ranks that are gone, so a thread of
// its own does it. True: it has ended, and nothing uses the GPU's memory any more.
bool abort_nccl(const NcclTable& nccl, void* comm, std::chrono::milliseconds limit);

// Memory that NCCL may still use, until the process ends.
void keep_for_ever(std::unique_ptr<CudaStream> stream);

// In words, with what NCCL says in addition.
std::string nccl_words(const NcclTable& nccl, void* comm, NcclResult result);

// A rank that is joined. Nothing is freed with `comm`.
struct NcclJoined {
  NcclTable nccl;
  std::unique_ptr<CudaStream> stream;
  std::byte *out = nullptr, *in = nullptr;   // of stage_bytes, on the GPU
  void* comm = nullptr;                      // ncclComm_t
};

// Collective over `bootstrap`. Errors: as open_nccl().
NcclJoined join_nccl(Comm& bootstrap, const NcclOptions& options);

}   // namespace kedge::engine
