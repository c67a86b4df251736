// The emulator's tensor units and late copies into shared memory: what cuda/tensor.cuh calls under g++.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/backend/emulated/emulator.h"

namespace kedge::engine::emulated {

// Operations of the tensor units since the last time that this was set to 0, a fused multiply-add as two.
inline double tensor_operations = 0;

// As mma.m16n8k16 on bfloat16, with the worst rounding that TensorError allows: each addend of a sum of 17 is cut to
// 2^-23 of the largest one's power of two, and so is their sum. All 32 lanes of the warp call it.
void multiply_fragments(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]);

// The copies of one thread that are under way. They happen when they are waited for, as late as hardware may do them.
class LateSharedCopies {
 public:
  void start(void* to, const void* from) { open_.push_back({to, from}); }
  void end_group() { groups_.push_back(std::move(open_)), open_.clear(); }
  void await(std::size_t pending) {   // inline, so that what watches the kernels' accesses sees these
    while (groups_.size() > pending) {
      for (const Copy& copy : groups_.front()) *static_cast<Piece*>(copy.to) = *static_cast<const Piece*>(copy.from);
      groups_.erase(groups_.begin());
    }
  }
  void clear() { open_.clear(), groups_.clear(); }

 private:
  struct alignas(16) Piece {
    std::uint32_t words[4];
  };
  struct Copy {
    void* to;
    const void* from;
  };
  std::vector<Copy> open_;
  std::vector<std::vector<Copy>> groups_;
};

// Of the thread that runs.
LateSharedCopies& running_copies();

}   // namespace kedge::engine::emulated
