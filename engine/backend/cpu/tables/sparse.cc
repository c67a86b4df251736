// Sparse rows on the CPU: every op walks the entries of its rows, rows in parallel.
#include "engine/backend/raw.h"
#include "engine/backend/sparse_functors.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/backend/column_functors.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kSparseTile =
    64;   // rows: short, because the rows of a transpose differ in length a thousandfold
constexpr std::int64_t kParallelEntries = 1 << 16;
constexpr std::int64_t kLongEntryNs = 16;   // a tile of such entries is looked into between rows

template <class T>
struct Entries {
  const std::int32_t* columns;
  T* values;
  std::int64_t n;
};

template <class T>
Entries<T> entries_of(const CsrView<T>& A, std::int64_t row) {
  const std::int64_t begin = raw(A.offsets)[row];
  return {raw(A.columns) + begin, raw(A.values) + begin, raw(A.offsets)[row + 1] - begin};
}

std::int64_t row_at(VectorView<const std::int32_t> rows, std::int64_t i) {
  return rows.empty() ? i : std::int64_t{raw(rows)[i]};
}

template <class T, class Body>
void for_sparse_rows(const CsrView<T>& A, std::int64_t n, std::int64_t entry_ns, Body&& body) {
  for_tiles(n, kSparseTile, n + A.n_entries() * entry_ns, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (entry_ns >= kLongEntryNs) check_job_stop();
      body(i);
    }
  });
}

// As lane_sum, which rows of few entries need not fold as a whole: what is 0 adds nothing.
template <class Term>
inline __attribute__((always_inline)) double entry_sum(std::int64_t n, Term&& term) {
  if (n >= kLanes) return lane_sum(n, term);
  double lanes[kLanes] = {};
  for (std::int64_t e = 0; e < n; ++e) lanes[e] = term(e);
  for (int width = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)) / 2); width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

template <class T>
KEDGE_CLONES double dot_entries(Entries<const T> row, const double* b, std::int64_t stride) {
  return entry_sum(row.n,
                   [=](std::int64_t e) { return static_cast<double>(row.values[e]) * b[row.columns[e] * stride]; });
}

template <class T>
KEDGE_CLONES void add_rows(Entries<const T> row, const MatrixView<const double>& B, double* c) {
  std::fill_n(c, B.cols, 0.0);
  for (std::int64_t e = 0; e < row.n; ++e) {
    const double value = static_cast<double>(row.values[e]);
    const double* const b = raw(B) + row.columns[e] * B.stride;
    for (std::int64_t j = 0; j < B.cols; ++j) c[j] += value * b[j];
  }
}

template <class T>
double norm_of(RowNorm norm, Entries<T> row) {
  if (norm == RowNorm::kL1)
    return entry_sum(row.n, [=](std::int64_t e) { return std::abs(static_cast<double>(row.values[e])); });
  if (norm == RowNorm::kL2)
    return std::sqrt(entry_sum(row.n, [=](std::int64_t e) {
      return static_cast<double>(row.values[e]) * static_cast<double>(row.values[e]);
    }));
  double most = 0;
  for (std::int64_t e = 0; e < row.n; ++e) most = std::max(most, std::abs(static_cast<double>(row.values[e])));
  return most;
}

// Where part p of the rows begins, of as many parts as threads; the parts have about the same number of
// entries.
template <class T>
std::vector<std::int64_t> equal_parts(const CsrView<const T>& A) {
  const std::int64_t parts = A.n_entries() < kParallelEntries ? 1 : std::clamp(omp_get_max_threads(), 1, 16);
  std::vector<std::int64_t> begin;
  const std::int64_t* const offsets = raw(A.offsets);
  for (std::int64_t p = 0; p < parts; ++p)
    begin.push_back(std::lower_bound(offsets, offsets + A.rows, p * A.n_entries() / parts) - offsets);
  begin.push_back(A.rows);
  return begin;
}

// Calls body(part, row) for the rows of each part in order, parts side by side.
template <class Body>
void for_parts(const std::vector<std::int64_t>& begin, Body&& body) {
  const auto parts = static_cast<std::int64_t>(begin.size()) - 1;
  FirstError error;
#pragma omp parallel for schedule(static) if (parts > 1)
  for (std::int64_t p = 0; p < parts; ++p)
    error.run([&] {
      for (std::int64_t i = begin[p]; i < begin[p + 1]; ++i) {
        if (i % kSparseTile == 0) check_job_stop();
        body(p, i);
      }
    });
  error.rethrow();
}

template <class T>
class CpuSparse final : public SparseOps<T> {
 public:
  std::int64_t offsets(CsrView<const T> A, VectorView<const std::int32_t> rows,
                       VectorView<std::int64_t> offsets) override {
    raw(offsets)[0] = 0;
    for (std::int64_t i = 0; i + 1 < offsets.size; ++i)
      raw(offsets)[i + 1] = raw(offsets)[i] + entries_of(A, row_at(rows, i)).n;
    return raw(offsets)[offsets.size - 1];
  }

  void gather(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> scale,
              CsrView<T> out) override {
    const double* const factors = scale.empty() ? nullptr : raw(scale);
    for_sparse_rows(out, out.rows, 1, [&](std::int64_t i) {
      const Entries<const T> from = entries_of(A, row_at(rows, i));
      const std::int64_t to = raw(out.offsets)[i];
      std::copy_n(from.columns, from.n, raw(out.columns) + to);
      for (std::int64_t e = 0; e < from.n; ++e)
        raw(out.values)[to + e] = scaled_entry(from.values[e], factors, from.columns[e]);
    });
  }

  // Each part of the rows counts its entries by column, and then knows where in each row of the result they go.
  void transpose(CsrView<const T> A, CsrView<T> out) override {
    const std::vector<std::int64_t> begin = equal_parts(A);
    const auto parts = static_cast<std::int64_t>(begin.size()) - 1;
    std::vector<std::int64_t> places(static_cast<std::size_t>(parts * A.cols), 0);
    for_parts(begin, [&](std::int64_t p, std::int64_t i) {
      std::int64_t* const counts = places.data() + p * A.cols;
      for (std::int64_t e = raw(A.offsets)[i]; e < raw(A.offsets)[i + 1]; ++e) ++counts[raw(A.columns)[e]];
    });
    std::int64_t next = 0;
    for (std::int64_t j = 0; j < A.cols; ++j) {
      raw(out.offsets)[j] = next;
      for (std::int64_t p = 0; p < parts; ++p) next += std::exchange(places[p * A.cols + j], next);
    }
    raw(out.offsets)[A.cols] = next;
    for_parts(begin, [&](std::int64_t p, std::int64_t i) {
      std::int64_t* const next_place = places.data() + p * A.cols;
      for (std::int64_t e = raw(A.offsets)[i]; e < raw(A.offsets)[i + 1]; ++e) {
        const std::int64_t to = next_place[raw(A.columns)[e]]++;
        raw(out.columns)[to] = static_cast<std::int32_t>(i);
        raw(out.values)[to] = raw(A.values)[e];
      }
    });
  }

  void multiply(CsrView<const T> A, MatrixView<const double> B, MatrixView<double> C) override {
    for_sparse_rows(A, A.rows, B.cols, [&](std::int64_t i) {
      double* const c = raw(C) + i * C.stride;
      if (B.cols == 1) *c = dot_entries<T>(entries_of(A, i), raw(B), B.stride);
      else add_rows<T>(entries_of(A, i), B, c);
    });
  }

  void moments(CsrView<const T> A, VectorView<const double> weights, VectorView<double> mean,
               VectorView<double> variance) override {
    const double* const w = weights.empty() ? nullptr : raw(weights);
    const double all =
        w ? tile_sum(weights.size, 1, [=](std::int64_t j) { return w[j]; }) : static_cast<double>(A.cols);
    for_sparse_rows(A, A.rows, 4, [&](std::int64_t i) {
      const Entries<const T> row = entries_of(A, i);
      const auto weight = [=](std::int64_t e) { return w ? w[row.columns[e]] : 1.0; };
      const double sum =
                       entry_sum(row.n, [=](std::int64_t e) { return weight(e) * static_cast<double>(row.values[e]); }),
                   m = sum / all;
      const double squares = entry_sum(row.n, [=](std::int64_t e) {
        const double away = static_cast<double>(row.values[e]) - m;
        return weight(e) * away * away;
      });
      raw(mean)[i] = m;
      raw(variance)[i] = sparse_variance(squares, m, {entry_sum(row.n, weight), all}, row.n == A.cols);
    });
  }

  void range(CsrView<const T> A, VectorView<T> minimum, VectorView<T> maximum) override {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    for_sparse_rows(A, A.rows, 1, [&](std::int64_t i) {
      const Entries<const T> row = entries_of(A, i);
      T low = row.n < A.cols ? T{0} : kInfinity, high = row.n < A.cols ? T{0} : -kInfinity;
      for (std::int64_t e = 0; e < row.n; ++e) {
        low = row.values[e] < low ? row.values[e] : low;
        high = row.values[e] > high ? row.values[e] : high;
      }
      raw(minimum)[i] = low, raw(maximum)[i] = high;
    });
  }

  void to_dense(CsrView<const T> A, VectorView<const std::int32_t> rows, VectorView<const double> shift,
                VectorView<const double> scale, MatrixView<T> out) override {
    const double* const s = shift.empty() ? nullptr : raw(shift);
    const double* const f = scale.empty() ? nullptr : raw(scale);
    for_tiles(out.rows, kSparseTile, out.size(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* const row = raw(out) + i * out.stride;
        if (s)
          for (std::int64_t j = 0; j < A.cols; ++j) row[j] = affine(T{0}, s, f, j);
        else std::fill_n(row, A.cols, T{0});
        const Entries<const T> from = entries_of(A, row_at(rows, i));
        for (std::int64_t e = 0; e < from.n; ++e) row[from.columns[e]] = affine(from.values[e], s, f, from.columns[e]);
      }
    });
  }

  void normalize(RowNorm norm, CsrView<T> A) override {
    for_sparse_rows(A, A.rows, 2, [&](std::int64_t i) {
      const Entries<T> row = entries_of(A, i);
      const double size = norm_of(norm, row);
      if (is_tiny_norm<T>(size)) return;
      for (std::int64_t e = 0; e < row.n; ++e)
        row.values[e] = static_cast<T>(static_cast<double>(row.values[e]) / size);
    });
  }
};

}   // namespace

template <class T>
std::unique_ptr<SparseOps<T>> make_cpu_sparse() {
  return std::make_unique<CpuSparse<T>>();
}
template std::unique_ptr<SparseOps<float>> make_cpu_sparse<float>();
template std::unique_ptr<SparseOps<double>> make_cpu_sparse<double>();

}   // namespace kedge::engine
