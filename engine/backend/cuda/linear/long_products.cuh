// Products whose sums are long: pieces of at most kPieceDepth terms by cuBLAS, many at once, and their sum in double.
// So rounding in float does not grow with the rows, and a small result still occupies the whole GPU.
#pragma once

#include "engine/backend/cuda/libraries.h"

namespace kedge::engine {

inline constexpr std::int64_t kPieceDepth = 2048;   // as on the CPU

// C = alpha op(A) op(B) + beta C.
template <class T, class U>
void long_product(CudaRuntime& runtime, DeviceLibraries& libraries, bool transpose_a, bool transpose_b, double alpha,
                  MatrixView<const T> A, MatrixView<const T> B, double beta, MatrixView<U> C);

// C = alpha A'A + beta C, both triangles; C is symmetric.
template <class T, class U>
void long_gram(CudaRuntime& runtime, DeviceLibraries& libraries, double alpha, MatrixView<const T> A, double beta,
               MatrixView<U> C);

}   // namespace kedge::engine
