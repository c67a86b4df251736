// What the server's children get of its environment: see child_environment.h.
#include "server/jobs/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace kedge::server {

std::vector<std::string> clean_environment() {
  constexpr std::array<std::string_view, 6> kNames{
      "PATH=", "HOME=", "LANG=", "TZ=", "LD_LIBRARY_PATH=", "KEDGE_CONTROL="};
  constexpr std::array<std::string_view, 12> kFamilies{"LC_",   "OMP_",       "GOMP_",       "OPENBLAS_",
                                                       "CUDA_", "NVIDIA_",    "ASAN_",       "UBSAN_",
                                                       "TSAN_", "KEDGE_FAIL", "KEDGE_FAKE_", "KEDGE_GPU_"};
  std::vector<std::string> kept;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text(*variable);
    const auto begins = [&](std::string_view name) { return text.starts_with(name); };
    const bool is_known = std::ranges::any_of(kNames, begins) || std::ranges::any_of(kFamilies, begins);
    if (is_known && !begins("NVIDIA_TF32_OVERRIDE=")) kept.emplace_back(text);
  }
  return kept;
}

std::vector<std::string> launcher_environment() {
  constexpr std::array<std::string_view, 10> kFamilies{"OMPI_",  "PMIX_",  "PRTE_", "MPICH_", "MPIR_",
                                                       "HYDRA_", "SLURM_", "UCX_",  "FI_",    "NCCL_"};
  std::vector<std::string> kept = clean_environment();
  for (char** variable = environ; *variable; ++variable)
    if (std::ranges::any_of(
            kFamilies, [text = std::string_view(*variable)](std::string_view name) { return text.starts_with(name); }))
      kept.emplace_back(*variable);
  // Open MPI refuses to run as root without these, and ranks run as kedged does.
  kept.insert(kept.end(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  return kept;
}

}   // namespace kedge::server
