// The list of sections, and what their items work with.
#include "gpu_check/section.h"

#include <stdlib.h>

#include <system_error>

#include "engine/backend/loader.h"
#include "engine/core/require.h"

namespace kedge::gpu_check {
namespace {

std::filesystem::path new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "kedge-gpu-check-XXXXXX").string();
  engine::require(::mkdtemp(name.data()) != nullptr, schema::ErrorCode::kInternal, "{}: no folder can be made there",
                  name);
  return name;
}

}   // namespace

Bench::Bench(std::string_view device)
    : device_(engine::open_device(device)), cpu_(engine::open_device("cpu")), folder_(new_folder()) {}

Bench::~Bench() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::vector<Section> sections() {
  return {
      {"limits", "what the device reaches", 15, &limit_items},
      {"quick", "each op, on little data", 20, &short_op_items},
      {"estimators", "each estimator and some whole jobs on small data, beside the CPU", 90, &estimator_items},
      {"ops", "each op, at one larger shape", 60, &op_items},
      {"shapes", "each op, at its other shapes", 60, &other_op_items},
      {"large", "the same estimators and jobs on larger data", 100, &large_estimator_items},
      {"ranks", "a rank over NCCL, where that is installed", 30, &rank_items},
      {"timings", "fits at the sizes of cuML's benchmark", 120, &timing_items},
      {"gains", "the same fits on the device and on this machine's cores, timed", 120, &gain_items},
      {"memcheck", "each op once under compute-sanitizer: accesses", 40, &short_op_items, "memcheck"},
      {"racecheck", "each op once under compute-sanitizer: shared memory", 40, &short_op_items, "racecheck"},
      {"initcheck", "each op once under compute-sanitizer: memory that was never written", 40, &short_op_items,
       "initcheck"},
  };
}

}   // namespace kedge::gpu_check
