// Which of OpenBLAS's kernel sets to use.
#pragma once

#include <string_view>

namespace kedge::engine {

// The kernel set to use in place of `chosen`, OpenBLAS's own choice; empty: it is right. Ends in a null byte.
std::string_view better_core(std::string_view chosen, bool has_avx512, bool has_avx2);

// The kernel set in use. Calling it also links the choice into the program.
std::string_view blas_core();

// Has OpenBLAS take the buffers that n_threads will use, 128 MiB of address space each: where there is none left, a
// product would retry forever. They take memory when they are used.
void take_blas_buffers(int n_threads);

}  // namespace kedge::engine
