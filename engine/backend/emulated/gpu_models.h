// The limits of the GPUs that the emulator can stand for. Source: CUDA C++ Programming Guide 13, "Compute
// Capabilities", and the vendor's data sheets for the number of multiprocessors.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace kedge::engine::emulated {

// What a launch may ask of a GPU. All of them have blocks of at most 1,024 threads, 65,536 registers a block and 255 a
// thread.
struct GpuModel {
  const char* name;
  int capability;   // 10 x compute capability: 75, 80, ...
  int multiprocessors;
  std::size_t max_shared_bytes;     // a block, static and dynamic together, where it asks for more than 48 KiB
  unsigned max_grid_rows = 65535;   // in y, and in z
  std::size_t memory_bytes = 0;     // that allocations get; 0: as much as the host gives
};

// T4, A100, L4, L40S, H100 and B200.
std::span<const GpuModel> gpu_models();
// By name; the program ends with an assertion where there is none.
const GpuModel& gpu_model(std::string_view name);
// For tests of the ops: few multiprocessors, and what every GPU from compute capability 8.0 has.
const GpuModel& usual_model();

}   // namespace kedge::engine::emulated
