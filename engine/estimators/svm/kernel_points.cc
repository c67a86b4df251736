// Which type products have, and the rows in it.
#include "engine/estimators/svm/kernel_points.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/ops/support_vectors.h"

namespace kedge::engine {
namespace {

bool is_linear(const KernelChoice& choice) {
  return choice.name == "linear";
}

// The largest slope of the kernel's function in the product of two rows.
double largest_slope(const KernelChoice& choice, double most) {
  if (is_linear(choice)) return 1;
  if (choice.name != "poly") return choice.gamma * (choice.name == "rbf" ? 2 : 1);
  if (choice.degree < 1) return 0;
  return choice.gamma * choice.degree * std::pow(choice.gamma * most + std::abs(choice.coef0), choice.degree - 1);
}

Kernel kernel_function(const KernelChoice& choice) {
  return {.kind = choice.name == "rbf"       ? KernelKind::kGaussian
                  : choice.name == "sigmoid" ? KernelKind::kSigmoid
                                             : KernelKind::kPolynomial,
          .gamma = choice.gamma,
          .coef0 = choice.coef0,
          .degree = choice.degree};
}

// The values of X in another type.
template <class E, class T>
Matrix<E> rounded(const Context& ctx, MatrixView<const T> X) {
  if (SupportVectorOps* const ops = support_vector_ops(ctx.device)) {
    Matrix<E> made(ctx.memory(), X.rows, X.cols);
    ops->put_rows(X, {}, made.view());
    return made;
  }
  Matrix<T> packed(ctx.memory(), X.rows, X.cols);
  ctx.ops<T>().tables->gather(X, {}, {}, {}, packed.view());
  const std::vector<T> host = packed.to_host();
  return {ctx.memory(), X.rows, X.cols, std::vector<E>(host.begin(), host.end())};
}

template <class E>
void take(const Context& ctx, KernelPoints<E>& points, std::vector<E> norms) {
  points.device_norms = Array<E>(ctx.memory(), std::span<const E>(norms));
  points.norms = std::move(norms);
}

}   // namespace

template <class T>
EitherPoints kernel_points(const Context& ctx, const KernelChoice& choice, MatrixView<const T> X, double tol) {
  Matrix<T> own;
  if (choice.name == "rbf") {   // a shift of all rows changes no distance, and products lose less without it
    Array<double> mean(ctx.memory(), X.cols);
    ctx.ops<T>().tables->column_moments(X, {}, {}, mean.view(), {});
    own = Matrix<T>(ctx.memory(), X.rows, X.cols);
    ctx.ops<T>().tables->gather(X, {}, std::as_const(mean).view(), {}, own.view());
    X = std::as_const(own).view();
  }
  Array<T> squares(ctx.memory(), X.rows);
  ctx.ops<T>().rows->row_squared_norms(X, squares.view());
  const std::vector<T> norms = squares.to_host();
  const double largest = norms.empty() ? 0 : static_cast<double>(*std::ranges::max_element(norms));
  constexpr double kProductError = 0x1p-21;   // of a product in float, relative to the lengths of its rows: a few units
  EitherPoints made;
  made.is_double = !(largest * largest_slope(choice, largest) * kProductError <= 0.1 * tol);
  const auto keep = [&]<class E>(KernelPoints<E>& points) {
    if constexpr (std::is_same_v<E, T>) {
      points.own = std::move(own), points.X = X;
      take(ctx, points, norms);
    } else {
      points.own = rounded<E>(ctx, X), points.X = std::as_const(points.own).view();
      Array<E> again(ctx.memory(), X.rows);
      ctx.ops<E>().rows->row_squared_norms(points.X, again.view());
      take(ctx, points, again.to_host());
    }
  };
  if (made.is_double) keep(made.in_double);
  else keep(made.in_float);
  return made;
}

template <class E>
void apply_kernel(const Context& ctx, const KernelChoice& choice, VectorView<const E> a_norms,
                  VectorView<const E> b_norms, MatrixView<E> K) {
  if (!is_linear(choice)) ctx.ops<E>().maps->apply_kernel(kernel_function(choice), a_norms, b_norms, K);
}

template EitherPoints kernel_points(const Context&, const KernelChoice&, MatrixView<const float>, double);
template EitherPoints kernel_points(const Context&, const KernelChoice&, MatrixView<const double>, double);
template void apply_kernel(const Context&, const KernelChoice&, VectorView<const float>, VectorView<const float>,
                           MatrixView<float>);
template void apply_kernel(const Context&, const KernelChoice&, VectorView<const double>, VectorView<const double>,
                           MatrixView<double>);

}   // namespace kedge::engine
