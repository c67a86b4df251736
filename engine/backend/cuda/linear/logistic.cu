// Logistic loss and its derivatives on the GPU: one thread a row.
#include <cstdint>
#include <type_traits>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/double_units.h"
#include "engine/backend/cuda/linear/logistic_pass.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128;

template <class T>
__global__ void row_losses(T* Z, std::int64_t rows, std::int64_t cols, std::int64_t stride, const T* b,
                           const std::int32_t* y, const double* weights, double* losses) {
  const std::int64_t i = own_item();
  if (i < rows) losses[i] = logistic_row(Z + i * stride, cols, b, y[i], weights ? weights[i] : 1.0);
}

template <class T>
__global__ void curvatures(const T* Z, std::int64_t rows, std::int64_t cols, std::int64_t stride, const T* b,
                           const double* weights, double* W, std::int64_t w_stride) {
  const std::int64_t i = own_item();
  if (i < rows) curvature_row(Z + i * stride, cols, b, weights ? weights[i] : 1.0, W + i * w_stride);
}

template <class T>
class CudaLogistic final : public LogisticOps<T>, private CudaBody {
 public:
  explicit CudaLogistic(const CudaParts<T>& parts) : CudaBody(parts), ops_(parts.ops) {}

  double loss(MatrixView<T> Z, VectorView<const T> b, VectorView<const std::int32_t> y,
              VectorView<const double> weights) override {
    Array<double> losses(runtime_, Z.rows), total(runtime_, 1);
    KEDGE_LAUNCH(runtime_, row_losses<T>, blocks_for(Z.rows, kThreads), kThreads, 0, raw(Z), Z.rows, Z.cols, Z.stride,
                 b.empty() ? nullptr : raw(b), raw(y), weights.empty() ? nullptr : raw(weights), losses.data());
    sum_values(runtime_, raw(losses), Z.rows, raw(total));
    return total.to_host()[0];
  }

  double gradient(MatrixView<const T> X, MatrixView<const T> B, VectorView<const T> b, VectorView<const std::int32_t> y,
                  VectorView<const double> weights, MatrixView<T> Z, MatrixView<T> G) override {
    if (B.rows == 1 && Z.cols == 2 && X.rows > 0) {
      const LogisticRows<T> rows{.X = X,
                                 .coefficients = raw(B),
                                 .intercepts = b.empty() ? nullptr : raw(b),
                                 .y = raw(y),
                                 .weights = weights.empty() ? nullptr : raw(weights),
                                 .Z = Z,
                                 .in_pieces = lies_in_pieces(X),
                                 .in_pairs = lies_in_pairs(Z)};
      if (X.cols <= kMostOfDouble) return in_one_pass<kMostOfDouble>(rows, G);
      if constexpr (sizeof(T) == sizeof(float))
        if (X.cols <= 2 * kMostOfDouble) return in_one_pass<2 * kMostOfDouble>(rows, G);
    }
    return gradient_by_products(*ops_.linear, *this, X, B, b, y, weights, Z, G);
  }

  void curvature(MatrixView<const T> Z, VectorView<const T> b, VectorView<const double> weights,
                 MatrixView<double> W) override {
    KEDGE_LAUNCH(runtime_, curvatures<T>, blocks_for(Z.rows, kThreads), kThreads, 0, raw(Z), Z.rows, Z.cols, Z.stride,
                 b.empty() ? nullptr : raw(b), weights.empty() ? nullptr : raw(weights), raw(W), W.stride);
  }

 private:
  static constexpr int kMostOfDouble = 16;   // columns of one pass: a row and its sums stay in registers

  static bool lies_in_pairs(MatrixView<T> Z) {
    return Z.stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(raw(Z)) % sizeof(TwoMargins<T>) == 0;
  }

  // G is rounded to T, so pairs of floats have range enough: what they lose below 2^-149 it cannot hold.
  template <int kMost>
  double in_one_pass(const LogisticRows<T>& rows, MatrixView<T> G) {
    if constexpr (std::is_same_v<T, float>) {
      if (has_few_double_units(runtime_)) return one_pass<kMost, FloatPair>(rows, G);
    }
    return one_pass<kMost, double>(rows, G);
  }

  template <int kMost, class V>
  double one_pass(const LogisticRows<T>& rows, MatrixView<T> G) {
    const std::int64_t n = rows.X.rows, d = rows.X.cols, block_rows = pass_rows(n);
    const RankSeat seat = sums_.seat(n);
    const LogisticRows<T> own = rows.range(own_rows(seat, n));
    const std::int64_t blocks = tiles_of(own.X.rows, block_rows);
    Array<double> parts, sums(runtime_, d + 1);
    const auto sum_own = [&] {
      parts = Array<double>(runtime_, blocks * (d + 1));
      KEDGE_LAUNCH(runtime_, (logistic_pass<kMost, T, V>), static_cast<unsigned>(blocks), kPassThreads, 0, own,
                   block_rows, parts.data());
      return DeviceTables{raw(parts), blocks};
    };
    sums_.add(seat, d + 1, sum_own, raw(sums));
    KEDGE_LAUNCH(runtime_, put_gradient<T>, blocks_for(d, 128), 128, 0, sums.data(), d, raw(G));
    double loss = 0;
    runtime_.to_host(&loss, sums.data() + d, sizeof loss);
    return loss;
  }

  const Backend<T>& ops_;
};

}   // namespace

template <class T>
std::unique_ptr<LogisticOps<T>> make_cuda_logistic(const CudaParts<T>& parts) {
  return std::make_unique<CudaLogistic<T>>(parts);
}
template std::unique_ptr<LogisticOps<float>> make_cuda_logistic<float>(const CudaParts<float>&);
template std::unique_ptr<LogisticOps<double>> make_cuda_logistic<double>(const CudaParts<double>&);

}   // namespace kedge::engine
