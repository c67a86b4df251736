// Row-wise operations on the CPU.
#include "engine/backend/cpu/rows.h"

#include <algorithm>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

template <class T>
KEDGE_CLONES double squared_norm(const T* row, std::int64_t cols) {
  return lane_sum(cols, [=](std::int64_t j) { return static_cast<double>(row[j]) * static_cast<double>(row[j]); });
}

template <class T>
KEDGE_CLONES void add_row(const T* row, std::int64_t cols, double* __restrict sums) {
  for (std::int64_t j = 0; j < cols; ++j) sums[j] += static_cast<double>(row[j]);
}

constexpr std::int64_t kExpNs = 10;   // an exponential or logarithm in double

template <class T>
class CpuRows final : public RowOps<T> {
 public:
  void fill_normal(std::uint64_t seed, std::uint64_t stream, MatrixView<T> out) override {
    const std::int64_t n = out.size(), cols = out.cols;
    const auto put = [&](std::int64_t e, double value) {
      raw(out)[e / cols * out.stride + e % cols] = static_cast<T>(value);
    };
    for_rows((n + 1) / 2, 4 * kExpNs, [&](std::int64_t i) {
      const NormalPair pair = normal_pair(seed, stream, static_cast<std::uint64_t>(i));
      put(2 * i, pair.first);
      if (2 * i + 1 < n) put(2 * i + 1, pair.second);
    });
  }

  void add_to_rows(VectorView<const T> v, MatrixView<T> Z) override {
    for_rows(Z.rows, Z.cols, [&](std::int64_t i) {
      for (std::int64_t j = 0; j < Z.cols; ++j) raw(Z)[i * Z.stride + j] += raw(v)[j];
    });
  }

  void column_sums(MatrixView<const T> Z, VectorView<double> sums) override {
    const auto total = dealt_table_sums(
        Z.rows, Z.cols, Z.cols, [&](std::int64_t i, double* table) { add_row(raw(Z) + i * Z.stride, Z.cols, table); });
    std::copy(total.begin(), total.end(), raw(sums));
  }

  void precise_means(MatrixView<const T> Z, VectorView<const double> weights, VectorView<double> mean,
                     VectorView<double> total) override {
    std::vector<long double> sums(static_cast<std::size_t>(Z.cols), 0.0L);   // of x87: 64 bits
    long double all = 0;
    for (std::int64_t i = 0; i < Z.rows; ++i) {
      if (i % kRowTile == 0) check_job_stop();
      const long double w = weights.empty() ? 1.0 : raw(weights)[i];
      for (std::int64_t j = 0; j < Z.cols; ++j)
        sums[static_cast<std::size_t>(j)] += w * static_cast<long double>(raw(Z)[i * Z.stride + j]);
      all += w;
    }
    for (std::int64_t j = 0; j < Z.cols; ++j)
      raw(mean)[j] = static_cast<double>(sums[static_cast<std::size_t>(j)] / all);
    raw(total)[0] = static_cast<double>(all);
  }

  void weighted_sums(MatrixView<const T> Z, VectorView<const double> weights, VectorView<double> sums) override {
    std::fill_n(raw(sums), Z.cols, 0.0);
    for (std::int64_t i = 0; i < Z.rows; ++i) {
      if (i % kRowTile == 0) check_job_stop();
      const double w = weights.empty() ? 1.0 : raw(weights)[i];
      for (std::int64_t j = 0; j < Z.cols; ++j) raw(sums)[j] += w * static_cast<double>(raw(Z)[i * Z.stride + j]);
    }
  }

  void row_squared_norms(MatrixView<const T> X, VectorView<T> norms) override {
    for_rows(X.rows, X.cols,
             [&](std::int64_t i) { raw(norms)[i] = static_cast<T>(squared_norm(raw(X) + i * X.stride, X.cols)); });
  }

  void softmax_rows(MatrixView<T> Z) override {
    for_rows(Z.cols ? Z.rows : 0, kExpNs * Z.cols, [&](std::int64_t i) { softmax_row(raw(Z) + i * Z.stride, Z.cols); });
  }

  void argmax_rows(MatrixView<const T> Z, VectorView<std::int32_t> out) override {
    for_rows(Z.rows, Z.cols, [&](std::int64_t i) { raw(out)[i] = argmax_row(raw(Z) + i * Z.stride, Z.cols); });
  }
};

}   // namespace

template <class T>
std::unique_ptr<RowOps<T>> make_cpu_rows() {
  return std::make_unique<CpuRows<T>>();
}
template std::unique_ptr<RowOps<float>> make_cpu_rows<float>();
template std::unique_ptr<RowOps<double>> make_cpu_rows<double>();

}   // namespace kedge::engine
