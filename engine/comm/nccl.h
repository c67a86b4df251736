// Ranks that have a GPU each, over NCCL.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "engine/comm/comm.h"

namespace kedge::engine {

struct NcclOptions {
  int device = 0;   // the GPU of this rank; each rank has one of its own
  std::string library = "libnccl.so.2", driver = "libcuda.so.1";
  // Of each of two buffers on the GPU, through which all bytes go in pieces; at least 64 for each rank.
  std::size_t stage_bytes = std::size_t{32} << 20;
  std::chrono::milliseconds start_limit{30'000};   // until all ranks are joined
  std::chrono::milliseconds limit{30 * 60'000};    // of one wait for the others
  std::chrono::milliseconds abort_limit{2'000};    // for NCCL's own end after an error, which may hang
};

class NcclComm : public Comm {
 public:
  virtual std::string library() const = 0;   // "NCCL 2.28.9"
  virtual void finish() = 0;                 // collective; leaves NCCL in order. The object can only be destroyed then
};

// Joins the ranks of `bootstrap` to a communicator over NCCL. Collective over it, and it must outlive the result. Both
// are used by this thread alone.
//
// Memory of the host, as with all bodies: bytes are copied to the GPU and back. Several ranks cannot share a GPU.
//
// A call that fails, or that waits for longer than the limit, ends NCCL's communicator and aborts `bootstrap`, which
// ends all ranks in its way: over MPI the processes end, between threads it throws. Sums are not checked for overflow.
//
// Errors, the same on every rank: kDeviceUnavailable with the lowest rank's reason, when a rank has no NCCL, an old
// one, another release than rank 0, no GPU, too little memory there, or the GPU of another rank; or when the ranks are
// not joined in time. kInvalidValue for stage_bytes.
std::unique_ptr<NcclComm> open_nccl(Comm& bootstrap, const NcclOptions& options);

}   // namespace kedge::engine
