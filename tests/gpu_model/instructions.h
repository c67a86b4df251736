// What each basic block of the kernels in this program computes, read from its own machine code.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace kedge::gpu_model {

// Scalar floating-point instructions of a basic block, and all its instructions but those that count.
struct BlockCost {
  std::uint32_t f32 = 0, f64 = 0, special = 0, all = 0;
};

// By the address that follows the call which opens the block, in the running program. A block that the table lacks
// costs nothing.
using InstructionTable = std::unordered_map<std::uintptr_t, BlockCost>;

// Disassembles this program with objdump (binutils). Errors: std::runtime_error.
InstructionTable read_own_instructions();

}   // namespace kedge::gpu_model
