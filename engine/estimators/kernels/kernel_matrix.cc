// Kernel matrices: a matrix product or Manhattan distances, then the kernel's function of each element.
#include "engine/estimators/kernels/kernel_matrix.h"

#include <algorithm>

namespace kedge::engine {
namespace {

// The rows less an origin (host), or copied if it is empty.
template <class T>
Matrix<T> shifted(const Context& ctx, MatrixView<const T> X, const std::vector<double>& origin) {
  const Array<double> shift(ctx.memory(), std::span<const double>(origin));
  Matrix<T> out(ctx.memory(), X.rows, X.cols);
  ctx.ops<T>().tables->gather(X, {}, shift.view(), {}, out.view());
  return out;
}

template <class T>
void products(const Context& ctx, MatrixView<const T> X, MatrixView<const T> Y, Matrix<T>& K) {
  ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kYes, T{1}, X, Y, T{0}, K.view());
}

template <class T>
void gaussian(const Context& ctx, const Kernel& kernel, MatrixView<const T> X, MatrixView<const T> Y, Matrix<T>& K) {
  std::vector<T> first(static_cast<std::size_t>(Y.cols));
  ctx.memory().to_host(first.data(), Y.data, first.size() * sizeof(T));
  const std::vector<double> origin(first.begin(), first.end());
  const Matrix<T> x = shifted(ctx, X, origin), y = shifted(ctx, Y, origin);
  Array<T> x_norms(ctx.memory(), X.rows), y_norms(ctx.memory(), Y.rows);
  ctx.ops<T>().rows->row_squared_norms(x.view(), x_norms.view());
  ctx.ops<T>().rows->row_squared_norms(y.view(), y_norms.view());
  products(ctx, x.view(), y.view(), K);
  ctx.ops<T>().maps->apply_kernel(kernel, std::as_const(x_norms).view(), std::as_const(y_norms).view(), K.view());
}

template <class T>
void cosine(const Context& ctx, MatrixView<const T> X, MatrixView<const T> Y, Matrix<T>& K) {
  Matrix<T> x = shifted(ctx, X, {}), y = shifted(ctx, Y, {});
  ctx.ops<T>().maps->normalize_rows(RowNorm::kL2, x.view());
  ctx.ops<T>().maps->normalize_rows(RowNorm::kL2, y.view());
  products(ctx, std::as_const(x).view(), std::as_const(y).view(), K);
}

}  // namespace

const std::vector<std::string>& kernel_names() {
  static const std::vector<std::string> names{"rbf", "poly", "polynomial", "linear", "sigmoid", "cosine", "laplacian"};
  return names;
}

template <class T>
Matrix<T> kernel_matrix(const Context& ctx, const KernelChoice& choice, MatrixView<const T> X, MatrixView<const T> Y) {
  Kernel kernel{.kind = KernelKind::kGaussian, .gamma = choice.gamma, .coef0 = choice.coef0, .degree = choice.degree};
  Matrix<T> K(ctx.memory(), X.rows, Y.rows);
  if (choice.name == "rbf") {
    gaussian(ctx, kernel, X, Y, K);
  } else if (choice.name == "cosine") {
    cosine(ctx, X, Y, K);
  } else if (choice.name == "laplacian") {
    kernel.kind = KernelKind::kLaplacian;
    ctx.ops<T>().distances->pairwise(X, Y, {.metric = Metric::kManhattan}, K.view());
    ctx.ops<T>().maps->apply_kernel(kernel, {}, {}, K.view());
  } else {
    products(ctx, X, Y, K);
    if (choice.name == "linear") return K;
    kernel.kind = choice.name == "sigmoid" ? KernelKind::kSigmoid : KernelKind::kPolynomial;
    ctx.ops<T>().maps->apply_kernel(kernel, {}, {}, K.view());
  }
  return K;
}

template Matrix<float> kernel_matrix(const Context&, const KernelChoice&, MatrixView<const float>, MatrixView<const float>);
template Matrix<double> kernel_matrix(const Context&, const KernelChoice&, MatrixView<const double>, MatrixView<const double>);

}  // namespace kedge::engine
