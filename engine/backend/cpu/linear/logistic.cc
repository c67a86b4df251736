// Logistic loss and its derivatives on the CPU.
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/linear/logistic_rows.h"
#include "engine/backend/cpu/linear/thin_product.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kExpNs = 10;   // an exponential or logarithm in double

template <class T>
class CpuLogistic final : public LogisticOps<T> {
 public:
  double loss(MatrixView<T> Z, VectorView<const T> b, VectorView<const std::int32_t> y,
              VectorView<const double> weights) override {
    const T* const intercepts = b.empty() ? nullptr : raw(b);
    const double* const by_row = weights.empty() ? nullptr : raw(weights);
    return tile_sums(Z.rows, kExpNs * (Z.cols + 1), [&](std::int64_t begin, std::int64_t end) {
      return logistic_rows(Z, intercepts, raw(y), by_row, begin, end);
    });
  }

  double gradient(MatrixView<const T> X, MatrixView<const T> B, VectorView<const T> b, VectorView<const std::int32_t> y,
                  VectorView<const double> weights, MatrixView<T> Z, MatrixView<T> G) override {
    const std::int64_t n = X.rows, d = X.cols, m = B.rows;
    if (!is_thin_rows(n, d, m) || !is_thin_columns(n, d, m))
      return gradient_by_products(*linear_, *this, X, B, b, y, weights, Z, G);
    const T* const intercepts = b.empty() ? nullptr : raw(b);
    const double* const by_row = weights.empty() ? nullptr : raw(weights);
    const auto change = [&](std::int64_t begin, std::int64_t end) {
      return logistic_rows(Z, intercepts, raw(y), by_row, begin, end);
    };
    return thin_pass(X, B, Z.last_columns(m), change, G);
  }

  void curvature(MatrixView<const T> Z, VectorView<const T> b, VectorView<const double> weights,
                 MatrixView<double> W) override {
    const T* const intercepts = b.empty() ? nullptr : raw(b);
    for_rows(Z.rows, kExpNs * Z.cols + W.cols, [&](std::int64_t i) {
      curvature_row(raw(Z) + i * Z.stride, Z.cols, intercepts, weights.empty() ? 1.0 : raw(weights)[i],
                    raw(W) + i * W.stride);
    });
  }

 private:
  std::unique_ptr<LinearOps<T>> linear_ = make_cpu_linear<T>();
};

}   // namespace

template <class T>
std::unique_ptr<LogisticOps<T>> make_cpu_logistic() {
  return std::make_unique<CpuLogistic<T>>();
}
template std::unique_ptr<LogisticOps<float>> make_cpu_logistic<float>();
template std::unique_ptr<LogisticOps<double>> make_cpu_logistic<double>();

}   // namespace kedge::engine
