// Six rows and a panel of two vectors at a time, their sums in registers. Compiled with fused multiply-adds.
#include "engine/estimators/svm/row_products.h"

#include <algorithm>

#include "engine/backend/host/side_by_side.h"
#include "engine/backend/simd.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kRows = 6;       // two vectors of sums each: 12 of the 16 registers of AVX2
constexpr std::int64_t kTogether = 2;   // vectors of a panel
constexpr std::int64_t kVectorBytes = 32;

template <class E>
constexpr std::int64_t kLane = kVectorBytes / static_cast<std::int64_t>(sizeof(E));
template <class E>
constexpr std::int64_t kPanel = kTogether * kLane<E>;   // columns of the result

// Six rows by all panels: sums goes to `to`, kRows x (panels * kPanel).
template <class E>
inline __attribute__((always_inline)) void multiply(std::int64_t d, const E* const* rows, std::int64_t panels,
                                                    const E* panel, E* to) {
  typedef E Vector __attribute__((vector_size(kVectorBytes), aligned(sizeof(E)), may_alias));
  const std::int64_t stride = panels * kPanel<E>;
  for (std::int64_t p = 0; p < panels; ++p, panel += d * kPanel<E>) {
    Vector sums[kRows][kTogether] = {};
    for (std::int64_t k = 0; k < d; ++k) {
      const Vector first = *reinterpret_cast<const Vector*>(panel + k * kPanel<E>);
      const Vector second = *reinterpret_cast<const Vector*>(panel + k * kPanel<E> + kLane<E>);
#pragma GCC unroll 6
      for (std::int64_t i = 0; i < kRows; ++i) sums[i][0] += first * rows[i][k], sums[i][1] += second * rows[i][k];
    }
#pragma GCC unroll 6
    for (std::int64_t i = 0; i < kRows; ++i) {
      E* const at = to + i * stride + p * kPanel<E>;
      *reinterpret_cast<Vector*>(at) = sums[i][0];
      *reinterpret_cast<Vector*>(at + kLane<E>) = sums[i][1];
    }
  }
}

KEDGE_CLONES void multiply_rows(std::int64_t d, const float* const* rows, std::int64_t panels, const float* panel,
                                float* to) {
  multiply(d, rows, panels, panel, to);
}
KEDGE_CLONES void multiply_rows(std::int64_t d, const double* const* rows, std::int64_t panels, const double* panel,
                                double* to) {
  multiply(d, rows, panels, panel, to);
}

}   // namespace

template <class E>
RowProducts<E>::RowProducts(std::vector<E> X, std::int64_t n, std::int64_t d) : n_(n), d_(d), X_(std::move(X)) {
  const std::int64_t panels = (n + kPanel<E> - 1) / kPanel<E>;
  panels_.assign(static_cast<std::size_t>(panels * d * kPanel<E>), E{0});
  for (std::int64_t i = 0; i < n; ++i) {
    E* const to = panels_.data() + i / kPanel<E> * d * kPanel<E> + i % kPanel<E>;
    for (std::int64_t k = 0; k < d; ++k) to[k * kPanel<E>] = X_[static_cast<std::size_t>(i * d + k)];
  }
}

template <class E>
void RowProducts<E>::with_all(std::span<const std::int32_t> rows, std::int64_t first, E* to,
                              std::int64_t stride) const {
  constexpr std::int64_t kPanels = 64;   // whose sums stay in the L1 cache, until they are where they belong
  const auto count = static_cast<std::int64_t>(rows.size());
  side_by_side((count + kRows - 1) / kRows, [&](std::int64_t group) {
    check_job_stop();
    const E* some[kRows];
    const std::int64_t at = group * kRows, own = std::min(kRows, count - at);
    for (std::int64_t i = 0; i < kRows; ++i) some[i] = row(rows[static_cast<std::size_t>(at + std::min(i, own - 1))]);
    E sums[kRows * kPanels * kPanel<E>];
    for (std::int64_t begin = first; begin < n_; begin += kPanels * kPanel<E>) {
      const std::int64_t columns = std::min(kPanels * kPanel<E>, n_ - begin),
                         panels = (columns + kPanel<E> - 1) / kPanel<E>;
      multiply_rows(d_, some, panels, panels_.data() + begin * d_, sums);
      for (std::int64_t i = 0; i < own; ++i)
        std::copy_n(sums + i * panels * kPanel<E>, columns, to + (at + i) * stride + begin - first);
    }
  });
}

template <class E>
void RowProducts<E>::between(std::span<const std::int32_t> rows, E* to) const {
  std::vector<E> chosen;
  for (const std::int32_t i : rows) chosen.insert(chosen.end(), row(i), row(i) + d_);
  const RowProducts some(std::move(chosen), static_cast<std::int64_t>(rows.size()), d_);
  std::vector<std::int32_t> all(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
  some.with_all(all, 0, to, some.n_);
}

template class RowProducts<float>;
template class RowProducts<double>;

}   // namespace kedge::engine
