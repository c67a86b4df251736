// The rows between which support vector machines take kernel values, as their products are computed on the device.
#pragma once

#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/kernels/kernel_matrix.h"

namespace kedge::engine {

template <class E>
struct KernelPoints {
  Matrix<E> own;   // what X is, unless that is borrowed
  MatrixView<const E> X;
  std::vector<E> norms;
  Array<E> device_norms;
};

// One of the two has the rows.
struct EitherPoints {
  bool is_double = false;
  KernelPoints<float> in_float;
  KernelPoints<double> in_double;
};

// X: m x d on the device, borrowed where nothing has to be changed. In float where the rounding of the products is
// small beside `tol`, otherwise in double.
template <class T>
EitherPoints kernel_points(const Context& ctx, const KernelChoice& choice, MatrixView<const T> X, double tol);

// The kernel's function of products K of rows with these norms.
template <class E>
void apply_kernel(const Context& ctx, const KernelChoice& choice, VectorView<const E> a_norms,
                  VectorView<const E> b_norms, MatrixView<E> K);

}   // namespace kedge::engine
