// Columns on the CPU: sorted, their quantiles, their moments without what is missing.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/backend/column_functors.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/tables/sort.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kColumnGroup = 8;   // columns read together: a cache line of doubles
constexpr std::int64_t kSortNs = 20;       // a number, sorted
constexpr std::int64_t kFewRanks = 8;      // beyond it, sorting beats selecting

// body(j, numbers, n) for every column: its numbers without NaN, which the body may reorder.
template <class T, class Body>
void for_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, Body&& body) {
  const std::int64_t n = selected(X, rows);
  for_tiles(X.cols, kColumnGroup, n * X.cols * kSortNs, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    std::vector<T> numbers(static_cast<std::size_t>((end - begin) * n));
    std::int64_t present[kColumnGroup] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      if (i % kRowTile == 0) check_job_stop();
      const T* const row = row_at(X, rows, i);
      for (std::int64_t j = begin; j < end; ++j)
        if (row[j] == row[j]) numbers[static_cast<std::size_t>((j - begin) * n + present[j - begin]++)] = row[j];
    }
    for (std::int64_t j = begin; j < end; ++j) {
      check_job_stop();
      body(j, numbers.data() + (j - begin) * n, present[j - begin]);
    }
  });
}

// The ranks that quantiles q of n numbers need, ascending, each once.
std::vector<std::int64_t> ranks_of(VectorView<const double> q, std::int64_t n) {
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < q.size; ++i) {
    const QuantilePlace place = quantile_place(q.data[i], n);
    ranks.push_back(place.below), ranks.push_back(place.above);
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// sum += w (x - origin) and count += w, over the columns of one row that are not NaN.
template <class T>
KEDGE_CLONES void add_present(const T* row, const double* origin, double w, std::int64_t cols, double* __restrict sum,
                              double* __restrict count) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const bool here = row[j] == row[j];
    sum[j] += here ? w * (static_cast<double>(row[j]) - origin[j]) : 0.0;
    count[j] += here ? w : 0.0;
  }
}

template <class T>
KEDGE_CLONES void add_present_squares(const T* row, const double* mean, double w, std::int64_t cols, double* __restrict sum,
                                      double* __restrict squares) {
  for (std::int64_t j = 0; j < cols; ++j) {
    const double deviation = row[j] == row[j] ? static_cast<double>(row[j]) - mean[j] : 0.0, weighted = w * deviation;
    sum[j] += weighted;
    squares[j] += weighted * deviation;
  }
}

// The first number of each column that is not NaN, or NaN.
template <class T>
std::vector<double> first_present(MatrixView<const T> X, VectorView<const std::int32_t> rows) {
  std::vector<double> first(static_cast<std::size_t>(X.cols), std::numeric_limits<double>::quiet_NaN());
  std::int64_t missing = X.cols;
  for (std::int64_t i = 0; i < selected(X, rows) && missing > 0; ++i) {
    const T* const row = row_at(X, rows, i);
    for (std::int64_t j = 0; j < X.cols; ++j) {
      double& value = first[static_cast<std::size_t>(j)];
      if (std::isnan(value) && !std::isnan(row[j])) value = static_cast<double>(row[j]), --missing;
    }
  }
  return first;
}

template <class T>
class CpuColumns final : public ColumnOps<T> {
 public:
  void sort_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, MatrixView<T> sorted,
                    VectorView<std::int64_t> present) override {
    for_columns(X, rows, [&](std::int64_t j, T* numbers, std::int64_t n) {
      RadixSorter<T>().sort(numbers, n);
      T* const out = sorted.data + j * sorted.stride;
      std::copy_n(numbers, n, out);
      std::fill(out + n, out + sorted.cols, std::numeric_limits<T>::infinity());
      present.data[j] = n;
    });
  }

  void column_quantiles(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> q,
                        MatrixView<double> out) override {
    for_columns(X, rows, [&](std::int64_t j, T* numbers, std::int64_t n) {
      if (n == 0) {
        for (std::int64_t i = 0; i < q.size; ++i)
          out.data[i * out.stride + j] = std::numeric_limits<double>::quiet_NaN();
        return;
      }
      if (q.size > kFewRanks) {
        RadixSorter<T>().sort(numbers, n);
      } else {
        const std::vector<std::int64_t> ranks = ranks_of(q, n);
        place_ranks(numbers, 0, n, ranks.data(), static_cast<std::int64_t>(ranks.size()));
      }
      for (std::int64_t i = 0; i < q.size; ++i) {
        const QuantilePlace place = quantile_place(q.data[i], n);
        out.data[i * out.stride + j] = between(static_cast<double>(numbers[place.below]),
                                               static_cast<double>(numbers[place.above]), place.between);
      }
    });
  }

  void present_moments(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const double> weights,
                       VectorView<double> count, VectorView<double> mean, VectorView<double> variance) override {
    const std::int64_t n = selected(X, rows), d = X.cols;
    const auto weight = [&](std::int64_t i) { return weights.empty() ? 1.0 : weights.data[i]; };
    const std::vector<double> origin = first_present(X, rows);
    const auto sums = tile_table_sums(n, 2 * d, kRowTile, d, [&](std::int64_t i, double* table) {
      add_present(row_at(X, rows, i), origin.data(), weight(i), d, table, table + d);
    });
    for (std::int64_t j = 0; j < d; ++j) {
      count.data[j] = sums[static_cast<std::size_t>(d + j)];
      mean.data[j] = origin[static_cast<std::size_t>(j)] + sums[static_cast<std::size_t>(j)] / count.data[j];
    }
    const auto both = tile_table_sums(n, 2 * d, kRowTile, d, [&](std::int64_t i, double* table) {
      add_present_squares(row_at(X, rows, i), mean.data, weight(i), d, table, table + d);
    });
    for (std::int64_t j = 0; j < d; ++j) {
      const double rest = both[static_cast<std::size_t>(j)], squares = both[static_cast<std::size_t>(d + j)],
                   total = count.data[j];
      const double value = (squares - rest * rest / total) / total;
      variance.data[j] = value < 0 ? 0.0 : value;
    }
  }
};

}   // namespace

template <class T>
std::unique_ptr<ColumnOps<T>> make_cpu_columns() {
  return std::make_unique<CpuColumns<T>>();
}
template std::unique_ptr<ColumnOps<float>> make_cpu_columns<float>();
template std::unique_ptr<ColumnOps<double>> make_cpu_columns<double>();

}  // namespace kedge::engine
