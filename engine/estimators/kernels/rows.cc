// The estimators of this family, each with the rule by which it uses memory.
#include "engine/estimators/catalogue_rows.h"
#include "engine/estimators/kernels/kernel_pca.h"
#include "engine/estimators/kernels/kernel_ridge.h"
#include "engine/estimators/kernels/memory.h"
#include "engine/estimators/kernels/nystroem.h"
#include "engine/estimators/kernels/polynomial_count_sketch.h"

namespace kedge::engine {

void add_random_fourier(Rows& rows);

void add_kernels(Rows& rows) {
  add<Nystroem>(rows, memory::landmarks, {5, 2, 1744});
  add<KernelPCA>(rows, KernelPCA<float>::memory, {8, 2, 200},
                 {.host_part = "the rows and the vectors that the model keeps"});
  add<KernelRidge>(rows, memory::kernel_system, {4, 2, 56}, {.host_part = "the target and the dual coefficients"});
  add<PolynomialCountSketch>(rows, PolynomialCountSketch<double>::memory, {0, 1});
  add_random_fourier(rows);
}

}  // namespace kedge::engine
