// Chooses OpenBLAS's kernels where it misreads the processor. OpenBLAS 0.3.21 takes what it does not know (Intel's Emerald
// Rapids and Raptor Lake, AMD's Zen 5 ...) for a processor of 2004 and is then five times slower.
#include "engine/backend/cpu/linear/blas_core.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

extern "C" {
char* openblas_get_corename();
int openblas_get_num_threads();
void gotoblas_dynamic_init();   // does nothing once kernels are chosen
void gotoblas_dynamic_quit();
void* blas_memory_alloc(int);   // its buffers stay mapped when they are freed
void blas_memory_free(void*);
}

namespace kedge::engine {

std::string_view better_core(std::string_view chosen, bool has_avx512, bool has_avx2) {
  // Chosen for a processor it knows to have at least AVX: its own judgement stands (measured on Zen 4, which it calls Cooperlake).
  constexpr std::array<std::string_view, 9> kKnown{"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids",
                                                   "Excavator", "Steamroller", "Piledriver", "Bulldozer"};
  if (std::ranges::find(kKnown, chosen) != kKnown.end()) return {};
  if (has_avx512) return "SkylakeX";
  return has_avx2 ? std::string_view("Haswell") : std::string_view();
}

std::string_view blas_core() { return openblas_get_corename(); }

void take_blas_buffers(int n_threads) {
  std::vector<void*> buffers(static_cast<std::size_t>(std::clamp(n_threads, 1, openblas_get_num_threads())));
  for (void*& buffer : buffers) buffer = blas_memory_alloc(0);
  for (void* buffer : buffers) blas_memory_free(buffer);
}

}  // namespace kedge::engine

// Before main, while one thread runs; OpenBLAS's own constructor then finds the choice made.
__attribute__((constructor(101))) static void choose_blas_kernels() {
  if (std::getenv("OPENBLAS_CORETYPE")) return;   // the user has chosen
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  gotoblas_dynamic_init();
  const std::string_view better = kedge::engine::better_core(openblas_get_corename(), avx512, avx2);
  if (better.empty()) return;
  setenv("OPENBLAS_CORETYPE", better.data(), 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
}
