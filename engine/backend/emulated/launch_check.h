// What hardware refuses of a launch, refused by the emulator with the numbers.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "engine/backend/emulated/gpu_models.h"

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

namespace kedge::engine::emulated {

struct Launch {
  const char* name;   // as the source calls the kernel
  const void* kernel;
  dim3 grid, block;
  std::size_t shared_bytes = 0;   // dynamic
};

// The rules of one GPU, and what kernels were allowed. A resource.
class LaunchCheck {
 public:
  explicit LaunchCheck(const GpuModel& model) : model_(model) {}
  const GpuModel& model() const { return model_; }

  // As cudaFuncSetAttribute() does. Errors: schema::Error{kInternal} beyond what a block may have.
  void allow_shared(const void* kernel, const char* name, std::size_t bytes);
  // Why the GPU would not start this; empty where it would.
  std::string refusal(const Launch& launch) const;

 private:
  const GpuModel& model_;
  std::unordered_map<const void*, std::size_t> allowed_;   // dynamic bytes, by kernel
};

}   // namespace kedge::engine::emulated
