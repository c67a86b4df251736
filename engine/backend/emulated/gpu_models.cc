// The table of GPUs: see gpu_models.h.
#include "engine/backend/emulated/gpu_models.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace kedge::engine::emulated {
namespace {

constexpr std::size_t kKib = 1024;
constexpr std::array kModels{
    GpuModel{.name = "T4", .capability = 75, .multiprocessors = 40, .max_shared_bytes = 64 * kKib},
    GpuModel{.name = "A100", .capability = 80, .multiprocessors = 108, .max_shared_bytes = 163 * kKib},
    GpuModel{.name = "L4", .capability = 89, .multiprocessors = 58, .max_shared_bytes = 99 * kKib},
    GpuModel{.name = "L40S", .capability = 89, .multiprocessors = 142, .max_shared_bytes = 99 * kKib},
    GpuModel{.name = "H100", .capability = 90, .multiprocessors = 132, .max_shared_bytes = 227 * kKib},
    GpuModel{.name = "B200", .capability = 100, .multiprocessors = 148, .max_shared_bytes = 227 * kKib},
};
constexpr GpuModel kUsual{
    .name = "emulated GPU", .capability = 80, .multiprocessors = 4, .max_shared_bytes = 99 * kKib};

}   // namespace

std::span<const GpuModel> gpu_models() {
  return kModels;
}

const GpuModel& gpu_model(std::string_view name) {
  const auto found =
      std::ranges::find(kModels, name, [](const GpuModel& model) { return std::string_view(model.name); });
  assert(found != kModels.end());
  return *found;
}

const GpuModel& usual_model() {
  return kUsual;
}

}   // namespace kedge::engine::emulated
