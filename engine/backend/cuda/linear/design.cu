// The rows of a regression on the GPU. Few columns are multiplied in one pass over X (tall_gram.cuh). More are gathered
// in chunks, and multiplied or factorised by cuBLAS and cuSOLVER: gathering reads X once and writes it once in double,
// the products are n p^2 multiply-adds in double.
#include <algorithm>
#include <type_traits>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/double_units.h"
#include "engine/backend/cuda/linear/long_products.cuh"
#include "engine/backend/cuda/linear/tall_gram.cuh"
#include "engine/backend/cuda/linear/tall_slopes.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kChunkEntries = std::int64_t{1} << 25;   // doubles of gathered rows, 256 MiB
constexpr std::int64_t kChunkRows = 2048;                       // chunks are multiples of this
constexpr int kTile = 32, kTileThreads = 8;
constexpr std::int64_t kMostBlocks = 1024, kFewBlocks = 256;   // of one pass; each has its own sums
constexpr std::int64_t kPartEntries = std::int64_t{1} << 22;   // doubles of these sums, 32 MiB

template <class T>
__global__ void put_rows(Rows<T> d, std::int64_t first, std::int64_t n, double* out, std::int64_t stride) {
  const std::int64_t i = own_row();
  if (i >= n) return;
  for (std::int64_t j = threadIdx.x; j < d.cols + d.targets; j += blockDim.x) out[i * stride + j] = d.at(first + i, j);
}

// The same, column-major with `height` rows, of which the first p are left alone. Tiles are turned in shared memory, so
// that reads and writes both run along memory.
template <class T>
__global__ void put_columns(Rows<T> d, std::int64_t first, std::int64_t n, double* out, std::int64_t height) {
  __shared__ double tile[kTile][kTile + 1];
  const std::int64_t p = d.cols + d.targets;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kTile, col = block_y() * kTile;
  for (int r = static_cast<int>(threadIdx.y); r < kTile; r += kTileThreads) {
    if (row + r < n && col + threadIdx.x < p) tile[r][threadIdx.x] = d.at(first + row + r, col + threadIdx.x);
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.y); c < kTile; c += kTileThreads) {
    if (col + c < p && row + threadIdx.x < n) out[(col + c) * height + p + row + threadIdx.x] = tile[threadIdx.x][c];
  }
}

// The triangle of the last factorisation becomes the first p rows of the next.
__global__ void put_triangle(const double* R, std::int64_t p, double* out, std::int64_t height) {
  const std::int64_t i = own_row();
  if (i >= p) return;
  for (std::int64_t j = threadIdx.x; j < p; j += blockDim.x) out[j * height + i] = R[i * p + j];
}

__global__ void take_triangle(const double* a, std::int64_t height, std::int64_t p, double* R) {
  const std::int64_t i = own_row();
  if (i >= p) return;
  for (std::int64_t j = threadIdx.x; j < p; j += blockDim.x) R[i * p + j] = j < i ? 0.0 : a[j * height + i];
}

// P[c, :] = G[columns[c], :], squares[j] = G[j, j].
__global__ void pick_products(const double* G, std::int64_t p, const std::int32_t* columns, std::int64_t count,
                              double* P, double* squares) {
  const std::int64_t c = own_row();
  if (c > count) return;
  for (std::int64_t j = threadIdx.x; j < p; j += blockDim.x) {
    if (c < count) P[c * p + j] = G[columns[c] * p + j];
    else squares[j] = G[j * p + j];
  }
}

// out[i, c] = rows[i, columns[c]].
__global__ void take_some(const double* rows, std::int64_t n, std::int64_t p, const std::int32_t* columns,
                          std::int64_t count, double* out) {
  const std::int64_t i = own_row();
  if (i >= n) return;
  for (std::int64_t c = threadIdx.x; c < count; c += blockDim.x) out[i * count + c] = rows[i * p + columns[c]];
}

// One sum of squares for each tile of kRowTile rows and each column.
__global__ void sum_squares(const double* rows, std::int64_t n, std::int64_t p, double* sums) {
  const std::int64_t tile = blockIdx.x, j = block_y() * blockDim.x + threadIdx.x;
  if (j >= p) return;
  double sum = 0;
  for (std::int64_t i = tile * kRowTile; i < n && i < (tile + 1) * kRowTile; ++i)
    sum += rows[i * p + j] * rows[i * p + j];
  sums[tile * p + j] = sum;
}

// misses: whether sums of squares of n rows, one in every `step` values, are too large or too small for pairs of
// floats. Where each is at least 2^-100 n, what was lost below 2^-149 is less than 2^-47 of it.
__global__ void find_misses(const double* squares, std::int64_t count, std::int64_t step, double n, int* misses) {
  constexpr double kLeast = 0x1p-100, kMost = 0x1p100;
  const std::int64_t j = own_item();
  if (j < count && !(squares[j * step] >= kLeast * n && squares[j * step] <= kMost * n)) *misses = 1;
}

std::int64_t chunk_rows(std::int64_t n, std::int64_t p) {
  return std::min(n, std::max(kChunkRows, kChunkEntries / p / kChunkRows * kChunkRows));
}

template <class T>
class CudaDesign final : public DesignOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void gather(const Design<T>& design, std::int64_t first, MatrixView<double> out) override {
    const std::int64_t p = design.n_cols();
    if (p == 0) return;
    KEDGE_LAUNCH(runtime_, put_rows<T>, row_blocks(out.rows, p), row_block(p), 0, rows_of(design), first, out.rows,
                 raw(out), out.stride);
  }

  void gram(const Design<T>& design, MatrixView<double> G) override {
    const std::int64_t n = design.n_rows(), p = design.n_cols();
    if (p == 0) return;
    if (n > 0 && p <= kTallColumns) return gram_in_one_pass(design, G);
    if (n == 0) return runtime_.zero(raw(G), static_cast<std::size_t>(p * p) * sizeof(double));
    const std::int64_t chunk = chunk_rows(n, p);
    Array<double> rows(runtime_, chunk * p);
    for (std::int64_t i = 0; i < n; i += chunk) {
      const MatrixView<double> some(rows.data(), std::min(chunk, n - i), p);
      gather(design, i, some);
      long_gram<double, double>(runtime_, libraries_, 1, some, i == 0 ? 0 : 1, G);
    }
  }

  // The squares of a chunk begin from those before it, which stand in front of its own tiles.
  void products(const Design<T>& design, VectorView<const std::int32_t> columns, MatrixView<double> P,
                VectorView<double> squares) override {
    const std::int64_t n = design.n_rows(), p = design.n_cols(), c = columns.size;
    if (p == 0) return;
    if (n > 0 && p <= kTallColumns) {
      Array<double> G(runtime_, p * p);
      gram_in_one_pass(design, {G.data(), p, p});
      KEDGE_LAUNCH(runtime_, pick_products, row_blocks(c + 1, p), row_block(p), 0, G.data(), p, raw(columns), c, raw(P),
                   raw(squares));
      return;
    }
    runtime_.zero(raw(P), static_cast<std::size_t>(c * p) * sizeof(double));
    runtime_.zero(raw(squares), static_cast<std::size_t>(p) * sizeof(double));
    if (n == 0) return;
    const std::int64_t chunk = chunk_rows(n, p);
    Array<double> rows(runtime_, chunk * p), chosen(runtime_, chunk * c),
        sums(runtime_, (tiles_of(chunk, kRowTile) + 1) * p);
    for (std::int64_t i = 0; i < n; i += chunk) {
      const MatrixView<double> all(rows.data(), std::min(chunk, n - i), p), some(chosen.data(), all.rows, c);
      gather(design, i, all);
      const std::int64_t tiles = tiles_of(all.rows, kRowTile);
      runtime_.copy(sums.data(), raw(squares), static_cast<std::size_t>(p) * sizeof(double));
      KEDGE_LAUNCH(runtime_, sum_squares, tall_grid(runtime_, static_cast<unsigned>(tiles), blocks_for(p, 64)), 64, 0,
                   raw(all), all.rows, p, sums.data() + p);
      sum_tables(runtime_, raw(sums), tiles + 1, p, raw(squares));
      if (c == 0) continue;
      KEDGE_LAUNCH(runtime_, take_some, row_blocks(all.rows, c), row_block(c), 0, raw(all), all.rows, p, raw(columns),
                   c, raw(some));
      libraries_.template gemm<double>(true, false, 1.0, some, all, i == 0 ? 0.0 : 1.0, P);
    }
  }

  void slopes(const Design<T>& design, VectorView<const double> coef, VectorView<double> slopes) override {
    const std::int64_t n = design.n_rows(), d = design.X.cols, p = d + 1;
    if (d == 0) return;
    runtime_.zero(raw(slopes), static_cast<std::size_t>(d) * sizeof(double));
    if (n == 0) return;
    Array<double> signs(runtime_, p);
    KEDGE_LAUNCH(runtime_, put_signs, blocks_for(p, 64), 64, 0, coef.empty() ? nullptr : raw(coef), d, signs.data());
    if (d <= kSlopeColumns) return slopes_in_one_pass(design, raw(signs), slopes);
    const std::int64_t chunk = chunk_rows(n, p);
    Array<double> rows(runtime_, chunk * p), residuals(runtime_, chunk), sums(runtime_, p);
    for (std::int64_t i = 0; i < n; i += chunk) {
      const MatrixView<double> some(rows.data(), std::min(chunk, n - i), p), rest(residuals.data(), some.rows, 1);
      gather(design, i, some);
      libraries_.template gemm<double>(false, false, 1.0, some, MatrixView<const double>(signs.data(), p, 1), 0.0,
                                       rest);
      libraries_.template gemm<double>(true, false, 1.0, rest, some, i == 0 ? 0.0 : 1.0,
                                       MatrixView<double>(sums.data(), 1, p));
    }
    runtime_.copy(raw(slopes), sums.data(), static_cast<std::size_t>(d) * sizeof(double));
  }

  void triangle(const Design<T>& design, MatrixView<double> R) override {
    const std::int64_t n = design.n_rows(), p = design.n_cols();
    if (p == 0) return;
    runtime_.zero(raw(R), static_cast<std::size_t>(p * p) * sizeof(double));
    if (n == 0) return;
    const std::int64_t chunk = chunk_rows(n, p);
    Array<double> a(runtime_, (chunk + p) * p);
    for (std::int64_t i = 0; i < n; i += chunk) {
      const std::int64_t count = std::min(chunk, n - i), height = p + count;
      KEDGE_LAUNCH(runtime_, put_triangle, row_blocks(p, p), row_block(p), 0, raw(R), p, a.data(), height);
      KEDGE_LAUNCH(runtime_, put_columns<T>, tall_grid(runtime_, blocks_for(count, kTile), blocks_for(p, kTile)),
                   dim3(kTile, kTileThreads), 0, rows_of(design), i, count, a.data(), height);
      libraries_.triangularize(raw(a), height, p);
      KEDGE_LAUNCH(runtime_, take_triangle, row_blocks(p, p), row_block(p), 0, a.data(), height, p, raw(R));
    }
  }

 private:
  // Whether what pairs of floats made can stay, by the sums of squares. The host waits, as it does for the results.
  bool are_in_range(const double* squares, std::int64_t count, std::int64_t step, std::int64_t n) {
    Array<int> misses(runtime_, 1);
    misses.zero();
    KEDGE_LAUNCH(runtime_, find_misses, blocks_for(count, 128), 128, 0, squares, count, step, static_cast<double>(n),
                 misses.data());
    return misses.to_host()[0] == 0;
  }

  void slopes_in_one_pass(const Design<T>& design, const double* signs, VectorView<double> slopes) {
    const std::int64_t n = design.n_rows(), d = design.X.cols;
    if constexpr (std::is_same_v<T, float>) {
      if (has_few_double_units(runtime_)) {
        Array<double> sums(runtime_, slope_entries<FloatPair>(static_cast<int>(d)));
        slopes_by<FloatPair>(design, signs, raw(sums));
        runtime_.copy(raw(slopes), raw(sums), static_cast<std::size_t>(d) * sizeof(double));
        if (are_in_range(raw(sums) + d + 1, d + 1, 1, n)) return;
      }
    }
    slopes_by<double>(design, signs, raw(slopes));
  }

  // The exact sum of what sum(own, rows, parts) puts into a table for each block of rows, of which ranks have their
  // own.
  template <class Sum>
  void add_blocks(std::int64_t n, std::int64_t block_rows, std::int64_t entries, double* total, const Sum& sum) {
    const RankSeat seat = sums_.seat(n);
    const Part own = own_tiles(seat, tiles_of(n, block_rows)), rows = rows_of_tiles(own, block_rows, n);
    Array<double> parts;
    const auto sum_own = [&] {
      parts = Array<double>(runtime_, own.size() * entries);
      sum(own, rows, raw(parts));
      return DeviceTables{raw(parts), own.size()};
    };
    sums_.add(seat, entries, sum_own, total);
  }

  template <class V>
  void slopes_by(const Design<T>& design, const double* signs, double* sums) {
    const std::int64_t n = design.n_rows(), d = design.X.cols, entries = slope_entries<V>(static_cast<int>(d));
    const int stride = static_cast<int>(d + 1) | 1;   // odd: threads read rows one below the other
    const TileCut cut = cut_tile(design, kSlopeLoads, 1, stride);
    const std::int64_t block_rows = rows_of_block(n, cut, kMostSlopeBlocks);
    const std::int64_t tile = std::max<std::int64_t>(std::int64_t{cut.rows} * stride, kRowTileThreads);
    const std::size_t bytes = static_cast<std::size_t>(tile + cut.rows + d + 1) * sizeof(V);
    add_blocks(n, block_rows, entries, sums, [&](const Part& own, const Part& rows, double* parts) {
      KEDGE_LAUNCH(runtime_, (tall_slopes<T, V>), static_cast<unsigned>(own.size()), kRowTileThreads, bytes,
                   rows_of(design, rows.begin), cut, signs, rows.size(), block_rows, parts);
    });
  }

  // Floats are multiplied as pairs where doubles are slow, and once more in double if that left float's range.
  void gram_in_one_pass(const Design<T>& design, MatrixView<double> G) {
    if constexpr (std::is_same_v<T, float>) {
      if (has_few_double_units(runtime_)) {
        gram_by<FloatPair>(design, G);
        if (are_in_range(raw(G), G.rows, G.rows + 1, design.n_rows())) return;
      }
    }
    gram_by<double>(design, G);
  }

  template <class V>
  void gram_by(const Design<T>& design, MatrixView<double> G) {
    const std::int64_t n = design.n_rows(), p = design.n_cols();
    const GramCut gram(p);
    const TileCut cut = cut_tile(design, kGramLoads, gram.groups, gram.stride());
    const std::int64_t most = std::clamp(kPartEntries / gram.entries(), kFewBlocks, kMostBlocks),
                       block_rows = rows_of_block(n, cut, most);
    Array<double> sums(runtime_, gram.entries());
    const std::size_t folding = std::size_t{kSide} * kRowTileThreads * sizeof(V);
    add_blocks(n, block_rows, gram.entries(), raw(sums), [&](const Part& own, const Part& rows, double* parts) {
      KEDGE_LAUNCH(runtime_, (tall_gram<T, V>), static_cast<unsigned>(own.size()), kRowTileThreads,
                   std::max(cut.bytes(), folding), rows_of(design, rows.begin), cut, gram, rows.size(), block_rows,
                   parts);
    });
    KEDGE_LAUNCH(runtime_, spread_gram, row_blocks(p, p), row_block(p), 0, sums.data(), gram, p, raw(G));
  }
};

}   // namespace

template <class T>
std::unique_ptr<DesignOps<T>> make_cuda_design(const CudaParts<T>& parts) {
  return std::make_unique<CudaDesign<T>>(parts);
}
template std::unique_ptr<DesignOps<float>> make_cuda_design<float>(const CudaParts<float>&);
template std::unique_ptr<DesignOps<double>> make_cuda_design<double>(const CudaParts<double>&);

}   // namespace kedge::engine
