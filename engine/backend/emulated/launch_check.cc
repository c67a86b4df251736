// Limits of threads, grids, shared memory and registers: see launch_check.h.
#include "engine/backend/emulated/launch_check.h"

#include <fmt/core.h>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/emulated/kernel_symbols.h"
#include "engine/backend/emulated/register_table.h"
#include "schemas/error.h"

namespace kedge::engine::emulated {
namespace {

constexpr std::size_t kMaxThreads = 1024, kMaxBlockDepth = 64, kMaxGridWidth = 0x7fffffff;
constexpr int kWarp = 32, kRegistersOfABlock = 65536, kRegisterUnit = 256;   // registers are given to warps in units

// Registers of a block, as they are given out.
std::size_t registers_of(std::size_t threads, int of_a_thread) {
  const std::size_t warps = (threads + kWarp - 1) / kWarp;
  return warps * static_cast<std::size_t>((of_a_thread * kWarp + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit);
}

}   // namespace

void LaunchCheck::allow_shared(const void* kernel, const char* name, std::size_t bytes) {
  const std::size_t declared = symbols_of(kernel).shared_bytes();
  if (declared + bytes > model_.max_shared_bytes)
    throw schema::Error(schema::ErrorCode::kInternal,
                        fmt::format("kernel {}: {} bytes of shared memory and {} that it declares, {} has {}", name,
                                    bytes, declared, model_.name, model_.max_shared_bytes));
  allowed_[kernel] = bytes;
}

std::string LaunchCheck::refusal(const Launch& launch) const {
  const auto& [name, kernel, grid, block, shared_bytes] = launch;
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > kMaxThreads)
    return fmt::format("a block of {} threads, must be 1 to {}", threads, kMaxThreads);
  if (block.z > kMaxBlockDepth) return fmt::format("a block {} threads deep, at most {}", block.z, kMaxBlockDepth);
  if (grid.x > kMaxGridWidth || grid.y > model_.max_grid_rows || grid.z > model_.max_grid_rows)
    return fmt::format("a grid of {} x {} x {} blocks, {} takes {} x {} x {}", grid.x, grid.y, grid.z, model_.name,
                       kMaxGridWidth, model_.max_grid_rows, model_.max_grid_rows);
  const KernelSymbols& symbols = symbols_of(kernel);
  const std::size_t declared = symbols.shared_bytes();
  const auto allowed = allowed_.find(kernel);
  if (declared + shared_bytes > kPlainSharedBytes && (allowed == allowed_.end() || allowed->second < shared_bytes))
    return fmt::format(
        "{} bytes of shared memory and {} that it declares, {} are given unless the kernel is allowed more",
        shared_bytes, declared, kPlainSharedBytes);
  const int registers = registers_of_a_thread(symbols.name, model_.capability);
  if (registers_of(threads, registers) > kRegistersOfABlock)
    return fmt::format("a block of {} threads of {} registers on {}, which has {}", threads, registers, model_.name,
                       kRegistersOfABlock);
  return {};
}

}   // namespace kedge::engine::emulated
