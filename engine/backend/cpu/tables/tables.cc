// Tables on the CPU: find what is not finite, gather rows, moments and ranges of columns.
#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

template <class T>
KEDGE_CLONES bool row_is_finite(const T* row, std::int64_t cols) {
  int bad = 0;
  for (std::int64_t j = 0; j < cols; ++j) bad |= !(row[j] - row[j] == T{0});   // inf - inf and NaN - NaN are NaN
  return bad == 0;
}

template <class T>
KEDGE_CLONES void gather_row(const T* row, const double* shift, const double* scale, std::int64_t cols, T* out) {
  if (!shift && !scale) {
    std::copy_n(row, cols, out);
  } else if (shift && scale) {
    for (std::int64_t j = 0; j < cols; ++j)
      out[j] = static_cast<T>((static_cast<double>(row[j]) - shift[j]) * scale[j]);
  } else {
    for (std::int64_t j = 0; j < cols; ++j) out[j] = affine(row[j], shift, scale, j);
  }
}

// sum += w (x - origin), over the columns of one row.
template <class T>
KEDGE_CLONES void add_deviations(const T* row, const double* origin, double w, std::int64_t cols,
                                 double* __restrict sum) {
  for (std::int64_t j = 0; j < cols; ++j) sum[j] += w * (static_cast<double>(row[j]) - origin[j]);
}

template <class T>
KEDGE_CLONES void add_squares(const T* row, const double* mean, double w, std::int64_t cols, double* __restrict sum,
                              double* __restrict squares) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const double deviation = static_cast<double>(row[j]) - mean[j], weighted = w * deviation;
    sum[j] += weighted;
    squares[j] += weighted * deviation;
  }
}

template <class T>
KEDGE_CLONES void widen_range(const T* row, std::int64_t cols, T* minimum, T* maximum) {
  for (std::int64_t j = 0; j < cols; ++j) {
    minimum[j] = row[j] < minimum[j] ? row[j] : minimum[j];
    maximum[j] = row[j] > maximum[j] ? row[j] : maximum[j];
  }
}

// So many ranges of d columns, one behind the other: d minima and d maxima, which the first value replaces.
template <class T>
std::vector<T> empty_ranges(std::int64_t count, std::int64_t d) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::vector<T> ranges(static_cast<std::size_t>(count * 2 * d));
  for (std::size_t e = 0; e < ranges.size(); ++e)
    ranges[e] = static_cast<std::int64_t>(e) / d % 2 == 0 ? kInfinity : -kInfinity;
  return ranges;
}

// The range of all these ranges, in order: of -0 and 0 the first counts. Some may be empty.
template <class T>
std::vector<T> widest(const std::vector<T>& ranges, std::int64_t d) {
  std::vector<T> all = empty_ranges<T>(1, d);
  for (auto at = ranges.begin(); at != ranges.end(); at += 2 * d)
    for (std::int64_t j = 0; j < d; ++j) {
      if (at[j] < all[static_cast<std::size_t>(j)]) all[static_cast<std::size_t>(j)] = at[j];
      if (at[d + j] > all[static_cast<std::size_t>(d + j)]) all[static_cast<std::size_t>(d + j)] = at[d + j];
    }
  return all;
}

template <class T>
class CpuTables final : public TableOps<T> {
 public:
  std::optional<Cell> find_nonfinite(MatrixView<const T> X) override {
    std::atomic<std::int64_t> first_row = X.rows;
    for_tiles(X.rows, kRowTile, X.size(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end && i < first_row.load(std::memory_order_relaxed); ++i) {
        if (row_is_finite(raw(X) + i * X.stride, X.cols)) continue;
        std::int64_t seen = first_row.load();
        while (i < seen && !first_row.compare_exchange_weak(seen, i)) {
        }
      }
    });
    if (first_row == X.rows) return std::nullopt;
    const T* const row = raw(X) + first_row * X.stride;
    const T* const cell = std::find_if(row, row + X.cols, [](T v) { return !row_is_finite(&v, 1); });
    return Cell{first_row, cell - row};
  }

  void gather(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> shift,
              VectorView<const double> scale, MatrixView<T> out) override {
    const double* const s = shift.empty() ? nullptr : raw(shift);
    const double* const f = scale.empty() ? nullptr : raw(scale);
    for_tiles(out.rows, kRowTile, out.size(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        gather_row(row_at(X, rows, i), s, f, X.cols, raw(out) + i * out.stride);
    });
  }

  void column_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> weights,
                      VectorView<double> mean, VectorView<double> variance) override {
    const std::int64_t n = selected(X, rows), d = X.cols;
    if (n == 0) {
      std::fill_n(raw(mean), d, std::numeric_limits<double>::quiet_NaN());
      std::fill_n(raw(variance), variance.size, std::numeric_limits<double>::quiet_NaN());
      return;
    }
    const auto weight = [&](std::int64_t i) { return weights.empty() ? 1.0 : raw(weights)[i]; };
    const double total = weights.empty() ? static_cast<double>(n) : dealt_sum(n, 1, weight);
    // Deviations are taken from the first row, so that a constant column has exactly its value as mean, and no
    // variance.
    std::vector<double> origin(row_at(X, rows, 0), row_at(X, rows, 0) + d);
    const auto sums = dealt_table_sums(n, d, d, [&](std::int64_t i, double* table) {
      add_deviations(row_at(X, rows, i), origin.data(), weight(i), d, table);
    });
    for (std::int64_t j = 0; j < d; ++j)
      raw(mean)[j] = origin[static_cast<std::size_t>(j)] + sums[static_cast<std::size_t>(j)] / total;
    if (variance.empty()) return;
    const auto both = dealt_table_sums(n, 2 * d, d, [&](std::int64_t i, double* table) {
      add_squares(row_at(X, rows, i), raw(mean), weight(i), d, table, table + d);
    });
    for (std::int64_t j = 0; j < d; ++j) {   // the first sum would be 0 except for the rounding of the mean
      const double rest = both[static_cast<std::size_t>(j)], squares = both[static_cast<std::size_t>(d + j)];
      raw(variance)[j] = std::max(0.0, (squares - rest * rest / total) / total);
    }
  }

  void column_range(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<T> minimum,
                    VectorView<T> maximum) override {
    const std::int64_t d = X.cols;
    const auto own = [&](Part part) {
      const std::int64_t tiles = tiles_of(part.size(), kRowTile);
      std::vector<T> ranges = empty_ranges<T>(tiles, d);
      for_tiles(part.size(), kRowTile, part.size() * d, [&](std::int64_t tile, std::int64_t begin, std::int64_t end) {
        T* const low = ranges.data() + tile * 2 * d;
        for (std::int64_t i = part.begin + begin; i < part.begin + end; ++i)
          widen_range(row_at(X, rows, i), d, low, low + d);
      });
      return widest(ranges, d);
    };
    const std::int64_t n = selected(X, rows);
    Ranks* const ranks = ranks_of_rows(n);
    const std::vector<T> range = widest(parts_of_ranks<T>(ranks, [&] { return own(own_rows(ranks, n)); }), d);
    std::copy_n(range.begin(), d, raw(minimum));
    std::copy_n(range.begin() + d, d, raw(maximum));
  }

  void clip(MatrixView<T> X, T low, T high) override {
    for_tiles(X.rows, kRowTile, X.size(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (T* x = raw(X) + i * X.stride; x != raw(X) + i * X.stride + X.cols; ++x)
          *x = *x < low ? low : (*x > high ? high : *x);
      }
    });
  }
};

}   // namespace

template <class T>
std::unique_ptr<TableOps<T>> make_cpu_tables() {
  return std::make_unique<CpuTables<T>>();
}
template std::unique_ptr<TableOps<float>> make_cpu_tables<float>();
template std::unique_ptr<TableOps<double>> make_cpu_tables<double>();

}   // namespace kedge::engine
