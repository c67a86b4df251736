// The rows of a regression on the CPU: gathered tile by tile into the cache, and there multiplied or factorised.
#include <algorithm>
#include <memory>
#include <vector>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/dealt_rows.h"
#include "engine/backend/cpu/linear/blas.h"
#include "engine/backend/cpu/linear/lapack_steps.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/raw.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kGramRows = 2048;                          // of a tile, at most
constexpr std::int64_t kGramEntries = 1 << 16;                    // doubles of a tile: it stays in the second-level cache
constexpr std::int64_t kFewColumns = 384;                         // up to here each tile of rows has a product of its own
constexpr std::int64_t kLeastTriangleRows = 2048;                 // of a tile; at least eight times its columns
constexpr std::int64_t kPartialEntries = std::int64_t{1} << 22;   // doubles kept for partial sums, 32 MiB
constexpr std::int64_t kMostGroups = 64;                          // of tiles, with a partial sum each
constexpr std::int64_t kFewProducts = kFewColumns * kFewColumns;
constexpr std::int64_t kChunkEntries = std::int64_t{1} << 23;   // doubles of gathered rows where columns are many, 64 MiB
constexpr std::int64_t kSlopeRows = 4096;                       // that are gathered at once for slopes
constexpr std::int64_t kMultipliesPerNs = 8;                    // one core

template <class T>
KEDGE_CLONES void design_row(const T* x, const double* shift, const double* scale, std::int64_t cols, const double* y,
                             std::int64_t targets, double weight, double* __restrict out) {
  if (shift && scale) {
    for (std::int64_t j = 0; j < cols; ++j) out[j] = weight * ((static_cast<double>(x[j]) - shift[j]) * scale[j]);
  } else {
    for (std::int64_t j = 0; j < cols; ++j) out[j] = weight * affine(static_cast<double>(x[j]), shift, scale, j);
  }
  for (std::int64_t t = 0; t < targets; ++t) out[cols + t] = weight * y[t];
}

template <class T>
void put_rows(const Design<T>& d, std::int64_t begin, std::int64_t end, double* out, std::int64_t stride) {
  for (std::int64_t i = begin; i < end; ++i)
    design_row(row_at(d.X, d.rows, i), d.shift.empty() ? nullptr : raw(d.shift),
               d.scale.empty() ? nullptr : raw(d.scale), d.X.cols, raw(d.Y) + i * d.Y.stride, d.Y.cols,
               d.weights.empty() ? 1.0 : raw(d.weights)[i], out + (i - begin) * stride);
}

// The sum of what `add(rows, count, sum)` adds to a table of so many entries for each tile of rows, which lie in the
// cache without padding. One table for each group of tiles; groups depend on the shape alone, and are dealt over the
// ranks of the rows.
template <class T, class Add>
std::vector<double> sum_tiles(const Design<T>& d, std::int64_t entries, std::int64_t multiplies, const Add& add) {
  const std::int64_t n = d.n_rows(), p = d.n_cols(), height = std::clamp<std::int64_t>(kGramEntries / p, 64, kGramRows),
                     tiles = tiles_of(n, height);
  const std::int64_t most =
      std::clamp<std::int64_t>(kPartialEntries / entries, 1, std::clamp<std::int64_t>(tiles, 1, kMostGroups));
  const std::int64_t group_rows = std::max<std::int64_t>(tiles_of(tiles, most), 1) * height, groups = tiles_of(n, group_rows);
  Ranks* const ranks = ranks_of_rows(n);
  const Part own = own_part(ranks, groups);
  std::unique_ptr<double[]> partial;
  const auto sum_own = [&] {
    partial = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(own.size() * entries));
    for_tiles(own.size(), 1, multiplies / kMultipliesPerNs, [&](std::int64_t task, std::int64_t, std::int64_t) {
      const auto rows = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(std::min(height, n) * p));
      double* const sum = partial.get() + task * entries;
      const std::int64_t first = (own.begin + task) * group_rows;
      std::fill_n(sum, entries, 0.0);
      for (std::int64_t i = first; i < std::min(n, first + group_rows); i += height) {
        check_job_stop();
        const std::int64_t end = std::min(n, i + height);
        put_rows(d, i, end, rows.get(), p);
        add(rows.get(), end - i, sum);
      }
    });
    return Tables{partial.get(), own.size()};
  };
  std::vector<double> total(static_cast<std::size_t>(entries), 0.0);
  add_tables_of_ranks(ranks, entries, sum_own, total.data());
  return total;
}

template <class T>
void narrow_gram(const Design<T>& d, MatrixView<double> G) {
  const std::int64_t n = d.n_rows(), p = d.n_cols();
  const auto lower = sum_tiles(d, p * p, n * p * p, [&](const double* rows, std::int64_t count, double* sum) {
    blas::syrk(p, count, rows, p, sum, p, 1.0);
  });
  for (std::int64_t i = 0; i < p; ++i) {
    for (std::int64_t j = 0; j <= i; ++j)
      raw(G)[i * G.stride + j] = raw(G)[j * G.stride + i] = lower[static_cast<std::size_t>(i * p + j)];
  }
}

KEDGE_CLONES void add_squares(const double* rows, std::int64_t count, std::int64_t cols, double* __restrict sums) {
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < cols; ++j) sums[j] += rows[i * cols + j] * rows[i * cols + j];
}

// out[i, c] = rows[i, columns[c]].
void take(const double* rows, std::int64_t count, std::int64_t cols, VectorView<const std::int32_t> columns, double* out) {
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t c = 0; c < columns.size; ++c) out[i * columns.size + c] = rows[i * cols + raw(columns)[c]];
}

template <class T>
void narrow_products(const Design<T>& d, VectorView<const std::int32_t> columns, MatrixView<double> P,
                     VectorView<double> squares) {
  const std::int64_t p = d.n_cols(), c = columns.size;
  const auto sums = sum_tiles(d, (c + 1) * p, d.n_rows() * c * p, [&](const double* rows, std::int64_t count, double* sum) {
    const auto chosen = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(count * c));
    take(rows, count, p, columns, chosen.get());
    if (c > 0) blas::gemm(Transpose::kYes, Transpose::kNo, c, p, count, 1.0, chosen.get(), c, rows, p, 1.0, sum, p);
    add_squares(rows, count, p, sum + c * p);
  });
  std::copy_n(sums.begin(), c * p, raw(P));
  std::copy_n(sums.begin() + c * p, p, raw(squares));
}

template <class T>
void gather_rows(const Design<T>& d, std::int64_t first, MatrixView<double> out) {
  for_tiles(out.rows, kRowTile, out.rows * d.n_cols(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    put_rows(d, first + begin, first + end, raw(out) + begin * out.stride, out.stride);
  });
}

// Rows that are gathered at once where columns are many.
std::int64_t chunk_rows(std::int64_t n, std::int64_t p) {
  return std::min(n, std::max(kGramRows, kChunkEntries / p / kGramRows * kGramRows));
}

void add_table(const double* table, std::int64_t entries, double* sum) {
  for_tiles(entries, 4096, entries, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = begin; e < end; ++e) sum[e] += table[e];
  });
}

// Upper triangle of the QR of each of these tiles of `height` rows, in a stack of at most p rows a tile.
template <class T>
std::vector<double> triangles_of(const Design<T>& d, std::int64_t height, Part tiles) {
  const std::int64_t n = d.n_rows(), p = d.n_cols(), work = 2 * tiles.size() * height * p * p;
  std::vector<double> stack(static_cast<std::size_t>(tiles.size() * p * p), 0.0);
  for_tiles(tiles.size(), 1, work / kMultipliesPerNs, [&](std::int64_t task, std::int64_t, std::int64_t) {
    const std::int64_t tile = tiles.begin + task;
    const std::int64_t rows = std::min(n, (tile + 1) * height) - tile * height, least = std::min(rows, p);
    auto a = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(rows * p));   // column-major
    std::vector<double> piece(static_cast<std::size_t>(64 * p));
    for (std::int64_t i = 0; i < rows; i += 64) {
      const std::int64_t some = std::min<std::int64_t>(64, rows - i);
      put_rows(d, tile * height + i, tile * height + i + some, piece.data(), p);
      for (std::int64_t j = 0; j < p; ++j) {
        for (std::int64_t r = 0; r < some; ++r)
          a[static_cast<std::size_t>(j * rows + i + r)] = piece[static_cast<std::size_t>(r * p + j)];
      }
    }
    factor_r(ColumnMajor<double>{a.get(), rows, p, rows});
    double* const triangle = stack.data() + task * p * p;
    for (std::int64_t j = 0; j < p; ++j) {
      for (std::int64_t i = 0; i <= std::min(j, least - 1); ++i)
        triangle[i * p + j] = a[static_cast<std::size_t>(j * rows + i)];
    }
  });
  return stack;
}

// Those of all tiles, which the ranks of the rows divide.
template <class T>
std::vector<double> tile_triangles(const Design<T>& d, std::int64_t height) {
  const std::int64_t tiles = tiles_of(d.n_rows(), height);
  Ranks* const ranks = ranks_of_rows(d.n_rows());
  return parts_of_ranks<double>(ranks, [&] { return triangles_of(d, height, own_part(ranks, tiles)); });
}

template <class T>
class CpuDesign final : public DesignOps<T> {
 public:
  void gather(const Design<T>& design, std::int64_t first, MatrixView<double> out) override {
    gather_rows(design, first, out);
  }

  void gram(const Design<T>& design, MatrixView<double> G) override {
    const std::int64_t n = design.n_rows(), p = design.n_cols();
    if (p <= kFewColumns) return narrow_gram(design, G);
    const std::int64_t chunk = chunk_rows(n, p);
    auto rows = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(chunk * p));
    auto product = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(p * p));
    std::fill_n(raw(G), p * p, 0.0);
    for (std::int64_t i = 0; i < n; i += chunk) {
      const MatrixView<double> some(rows.get(), std::min(chunk, n - i), p);
      gather_rows(design, i, some);
      linear_->gram(1.0, some, MatrixView<double>(product.get(), p, p));
      add_table(product.get(), p * p, raw(G));
    }
  }

  void products(const Design<T>& design, VectorView<const std::int32_t> columns, MatrixView<double> P,
                VectorView<double> squares) override {
    const std::int64_t n = design.n_rows(), p = design.n_cols(), c = columns.size;
    if (p == 0) return;
    if (c * p <= kFewProducts) return narrow_products(design, columns, P, squares);
    const std::int64_t chunk = chunk_rows(n, p);
    const auto rows = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(chunk * p)),
               chosen = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(chunk * c)),
               product = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(c * p));
    std::fill_n(raw(P), c * p, 0.0), std::fill_n(raw(squares), p, 0.0);
    for (std::int64_t i = 0; i < n; i += chunk) {
      const MatrixView<double> all(rows.get(), std::min(chunk, n - i), p), some(chosen.get(), all.rows, c);
      gather_rows(design, i, all);
      categories_->take_columns(all, {}, columns, some);
      linear_->gemm(Transpose::kYes, Transpose::kNo, 1.0, some, all, 0.0, MatrixView<double>(product.get(), c, p));
      add_table(product.get(), c * p, raw(P));
      add_squares(raw(all), all.rows, p, raw(squares));
    }
  }

  void slopes(const Design<T>& design, VectorView<const double> coef, VectorView<double> slopes) override {
    const std::int64_t n = design.n_rows(), blocks = tiles_of(n, kSlopeRows);
    Ranks* const ranks = ranks_of_rows(n);
    const auto sums =
        parts_of_ranks<double>(ranks, [&] { return block_slopes(design, coef, own_part(ranks, blocks)); });
    row_ops_->column_sums({sums.data(), blocks, design.X.cols}, slopes);
  }

  void triangle(const Design<T>& design, MatrixView<double> R) override {
    const std::int64_t n = design.n_rows(), p = design.n_cols(), height = std::max(kLeastTriangleRows, 8 * p);
    if (p == 0) return;
    if (n == 0) {
      std::fill_n(raw(R), p * p, 0.0);
      return;
    }
    std::vector<double> stack = tile_triangles(design, height);
    while (static_cast<std::int64_t>(stack.size()) > p * p) {
      const Design<double> triangles{
          .X = MatrixView<const double>(stack.data(), static_cast<std::int64_t>(stack.size()) / p, p)};
      stack = tile_triangles(triangles, height);
    }
    std::copy(stack.begin(), stack.end(), raw(R));
  }

 private:
  // The slopes of each block of rows, in a table. Products with one row or column start from 0, not from what the
  // result holds: such products read the rows in place.
  std::vector<double> block_slopes(const Design<T>& design, VectorView<const double> coef, Part blocks) {
    const std::int64_t n = design.n_rows(), d = design.X.cols, most = std::min(n, kSlopeRows);
    std::vector<double> block(static_cast<std::size_t>(most * d)), fitted(static_cast<std::size_t>(most)),
        rest(fitted.size()), sums(static_cast<std::size_t>(blocks.size() * d));
    Design<T> columns = design;
    columns.Y = {};
    const double one = 1;
    for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
      const std::int64_t i = b * kSlopeRows;
      check_job_stop();
      const MatrixView<double> rows(block.data(), std::min(kSlopeRows, n - i), d), residual(rest.data(), rows.rows, 1),
          product(fitted.data(), rows.rows, 1);
      gather_rows(columns, i, rows);
      for (std::int64_t r = 0; r < rows.rows; ++r) {
        const double y = raw(design.Y)[(i + r) * design.Y.stride];
        raw(residual)[r] = design.weights.empty() ? y : raw(design.weights)[i + r] * y;
      }
      if (!coef.empty()) {
        linear_->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows, {raw(coef), 1, d}, 0.0, product);
        linear_->gemm(Transpose::kNo, Transpose::kNo, -1.0, product, {&one, 1, 1}, 1.0, residual);
      }
      linear_->gemm(Transpose::kYes, Transpose::kNo, 1.0, residual, rows, 0.0,
                    {sums.data() + (b - blocks.begin) * d, 1, d});
    }
    return sums;
  }

  std::unique_ptr<LinearOps<double>> linear_ = make_cpu_linear<double>();
  std::unique_ptr<CategoryOps<double>> categories_ = make_cpu_categories<double>();
  std::unique_ptr<RowOps<double>> row_ops_ = make_cpu_rows<double>();
};

}   // namespace

template <class T>
std::unique_ptr<DesignOps<T>> make_cpu_design() {
  return std::make_unique<CpuDesign<T>>();
}
template std::unique_ptr<DesignOps<float>> make_cpu_design<float>();
template std::unique_ptr<DesignOps<double>> make_cpu_design<double>();

}   // namespace kedge::engine
