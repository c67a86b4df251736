// Kernels between the rows of two matrices, as sklearn.metrics.pairwise has them.
#pragma once

#include <string>
#include <vector>

#include "engine/core/context.h"

namespace kedge::engine {

struct KernelChoice {
  std::string name = "rbf";   // one of kernel_names()
  double gamma = 1, coef0 = 1, degree = 3;
};

const std::vector<std::string>& kernel_names();

// K[i, j] = kernel of row i of X and row j of Y (device). Products are matrix products; the norms of the Gaussian kernel are
// taken from the first row of Y, so that nothing is lost to a large offset of all rows.
template <class T>
Matrix<T> kernel_matrix(const Context& ctx, const KernelChoice& kernel, MatrixView<const T> X, MatrixView<const T> Y);

}  // namespace kedge::engine
