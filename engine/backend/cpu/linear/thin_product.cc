// Thin products: tiles of rows on all threads.
#include "engine/backend/cpu/linear/thin_product.h"

#include <algorithm>
#include <vector>

#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kTile = 1024;   // rows summed in T before the sum continues in double
constexpr std::int64_t kBlockBytes = 100'000;   // of rows, which then stay in the second-level cache

// X B' some rows at a time. With many columns for its classes the lanes of a vector go along the columns, otherwise
// across the classes.
template <class T>
class RowsProduct {
 public:
  RowsProduct(MatrixView<const T> X, MatrixView<const T> B) : X_(X), k_(B.rows) {
    constexpr std::int64_t kFolding = 2;   // strips of a row that take as long as the sum of a strip's lanes
    const std::int64_t d = X.cols, strips = tiles_of(d, W);
    is_along_ = d >= W && k_ * (strips + kFolding) < tiles_of(k_, W) * d;
    B_.resize(static_cast<std::size_t>(is_along_ ? k_ * strips : tiles_of(k_, W) * d));
    for (std::int64_t c = 0; c < k_; ++c)
      for (std::int64_t j = 0; j < d; ++j) {
        const std::int64_t lane = j < d / W * W ? j % W : j - (d - W);
        T& to = is_along_ ? strip(c * strips + j / W).lanes[lane] : strip(c / W * d + j).lanes[c % W];
        to = raw(B)[c * B.stride + j];
      }
  }

  // Rows begin .. end - 1 of Z. Where fewer than kThinRows are left of X, rows before them are multiplied, too, but not written.
  void operator()(std::int64_t begin, std::int64_t end, MatrixView<T> Z) const {
    const auto multiply = is_along_ ? thin_kernels<T>().multiply_along : thin_kernels<T>().multiply_across;
    T z[kThinRows * kThin];
    for (std::int64_t i = begin; i < end; i += kThinRows) {
      const std::int64_t first = std::min(i, X_.rows - kThinRows);
      multiply(raw(X_) + first * X_.stride, X_.stride, X_.cols, B_.data(), k_, z);
      for (std::int64_t r = i; r < std::min(i + kThinRows, end); ++r)
        std::copy_n(z + (r - first) * k_, k_, raw(Z) + r * Z.stride);
    }
  }

 private:
  static constexpr std::int64_t W = ThinStrip<T>::kLanes;
  ThinStrip<T>& strip(std::int64_t i) { return B_[static_cast<std::size_t>(i)]; }

  MatrixView<const T> X_;
  std::int64_t k_;
  bool is_along_;
  std::vector<ThinStrip<T>> B_;   // as the kernels want it
};

// thin_columns_product() with prepare(begin, end) of the rows of Z before they are read; the sum of what it returns. A
// task is a block of rows: where they are dealt, a rank prepares its own.
template <class T, class Prepare>
double sum_columns(MatrixView<const T> Z, MatrixView<const T> X, std::int64_t cost_ns, Prepare&& prepare, MatrixView<T> C) {
  const std::int64_t n = X.rows, d = X.cols, k = Z.cols, task_rows = block_rows(n), entries = k * d + 1;
  const std::int64_t block = std::clamp<std::int64_t>(kBlockBytes / static_cast<std::int64_t>(sizeof(T)) /
                                                          std::max<std::int64_t>(d, 1) / kThinRows,
                                                      1, kTile / kThinRows) *
                             kThinRows;
  Ranks* const ranks = ranks_of_rows(n);
  const Part own = own_part(ranks, tiles_of(n, task_rows));
  std::vector<double> partial,
      sums(static_cast<std::size_t>(entries));   // of each task: of the columns, and what is prepared
  const auto sum_task = [&](std::int64_t begin, std::int64_t end, double* total) {
    std::vector<T> of_tile(static_cast<std::size_t>(k * d));
    for (std::int64_t tile = begin; tile < end; tile += kTile) {
      check_job_stop();
      const std::int64_t tile_end = std::min(end, tile + kTile);
      std::ranges::fill(of_tile, T{0});
      for (std::int64_t i = tile; i < tile_end; i += block) {
        const std::int64_t block_end = std::min(tile_end, i + block);
        total[k * d] += prepare(i, block_end);
        thin_kernels<T>().add(raw(X) + i * X.stride, X.stride, block_end - i, d, raw(Z) + i * Z.stride, Z.stride, k,
                              of_tile.data());
      }
      for (std::size_t e = 0; e < of_tile.size(); ++e) total[e] += static_cast<double>(of_tile[e]);
    }
  };
  const auto sum_own = [&] {
    partial.assign(static_cast<std::size_t>(own.size() * entries), 0.0);
    for_tiles(own.size(), 1, cost_ns, [&](std::int64_t task, std::int64_t, std::int64_t) {
      const std::int64_t begin = (own.begin + task) * task_rows;
      sum_task(begin, std::min(n, begin + task_rows), partial.data() + task * entries);
    });
    return Tables{partial.data(), own.size()};
  };
  add_tables_of_ranks(ranks, entries, sum_own, sums.data());
  for (std::int64_t c = 0; c < k; ++c)
    for (std::int64_t j = 0; j < d; ++j)
      raw(C)[c * C.stride + j] = static_cast<T>(sums[static_cast<std::size_t>(c * d + j)]);
  return sums.back();
}

}  // namespace

template <class T>
void thin_rows_product(MatrixView<const T> X, MatrixView<const T> B, MatrixView<T> C) {
  const RowsProduct<T> product(X, B);
  for_tiles(X.rows, kTile, X.size(), [&](std::int64_t, std::int64_t begin, std::int64_t end) { product(begin, end, C); });
}

template <class T>
void thin_columns_product(MatrixView<const T> Z, MatrixView<const T> X, MatrixView<T> C) {
  sum_columns(Z, X, X.size() * Z.cols / 4, [](std::int64_t, std::int64_t) { return 0.0; }, C);
}

template <class T>
double thin_pass(MatrixView<const T> X, MatrixView<const T> B, MatrixView<T> Z, const ChangeRows& change, MatrixView<T> C) {
  const RowsProduct<T> product(X, B);
  const auto prepare = [&](std::int64_t begin, std::int64_t end) {
    product(begin, end, Z);
    return change(begin, end);
  };
  return sum_columns(MatrixView<const T>(Z), X, X.size() * Z.cols / 4, prepare, C);
}

#define KEDGE_THIN(T)                                                                                \
  template void thin_rows_product(MatrixView<const T>, MatrixView<const T>, MatrixView<T>);           \
  template void thin_columns_product(MatrixView<const T>, MatrixView<const T>, MatrixView<T>);        \
  template double thin_pass(MatrixView<const T>, MatrixView<const T>, MatrixView<T>, const ChangeRows&, MatrixView<T>)
KEDGE_THIN(float);
KEDGE_THIN(double);
#undef KEDGE_THIN

}  // namespace kedge::engine
