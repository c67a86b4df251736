// The rows of a regression on the CPU: gathered tile by tile into the cache, and there multiplied or factorised.
#include <algorithm>
#include <memory>
#include <vector>

#include "engine/backend/cpu/blas.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/rows.h"
#include "engine/backend/cpu/simd.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kGramRows = 2048;                          // of a tile, at most
constexpr std::int64_t kGramEntries = 1 << 16;                    // doubles of a tile: it stays in the second-level cache
constexpr std::int64_t kFewColumns = 384;                         // up to here each tile of rows has a product of its own
constexpr std::int64_t kLeastTriangleRows = 2048;                 // of a tile; at least eight times its columns
constexpr std::int64_t kPartialEntries = std::int64_t{1} << 22;   // doubles kept for partial sums, 32 MiB
constexpr std::int64_t kChunkEntries = std::int64_t{1} << 23;     // doubles of gathered rows where columns are many, 64 MiB
constexpr std::int64_t kMultipliesPerNs = 8;                      // one core
constexpr int kReflectors = 32;                                   // put together into one block

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
    design_row(row_at(d.X, d.rows, i), d.shift.empty() ? nullptr : d.shift.data, d.scale.empty() ? nullptr : d.scale.data,
               d.X.cols, d.Y.data + i * d.Y.stride, d.Y.cols, d.weights.empty() ? 1.0 : d.weights.data[i],
               out + (i - begin) * stride);
}

// One lower triangle for each group of tiles; groups depend on the shape alone.
template <class T>
void narrow_gram(const Design<T>& d, MatrixView<double> G) {
  const std::int64_t n = d.n_rows(), p = d.n_cols(), height = std::clamp<std::int64_t>(kGramEntries / p, 64, kGramRows),
                     tiles = tiles_of(n, height);
  const std::int64_t groups = std::clamp<std::int64_t>(kPartialEntries / (p * p), 1, std::max<std::int64_t>(tiles, 1));
  const std::int64_t group_rows = tiles_of(tiles, groups) * height;
  std::vector<double> partial(static_cast<std::size_t>(groups * p * p), 0.0);
  for_tiles(groups, 1, n * p * p / kMultipliesPerNs, [&](std::int64_t group, std::int64_t, std::int64_t) {
    std::vector<double> rows(static_cast<std::size_t>(std::min(height, n) * p)), product(static_cast<std::size_t>(p * p));
    double* const sum = partial.data() + group * p * p;
    for (std::int64_t i = group * group_rows; i < std::min(n, (group + 1) * group_rows); i += height) {
      const std::int64_t end = std::min(n, i + height);
      put_rows(d, i, end, rows.data(), p);
      blas::syrk(p, end - i, rows.data(), p, product.data(), p);
      for (std::int64_t e = 0; e < p * p; ++e) sum[e] += product[static_cast<std::size_t>(e)];
    }
  });
  for (std::int64_t i = 0; i < p; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::int64_t g = 0; g < groups; ++g) sum += partial[static_cast<std::size_t>(g * p * p + i * p + j)];
      G.data[i * G.stride + j] = G.data[j * G.stride + i] = sum;
    }
  }
}

template <class T>
void gather_rows(const Design<T>& d, std::int64_t first, MatrixView<double> out) {
  for_tiles(out.rows, kRowTile, out.rows * d.n_cols(), [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    put_rows(d, first + begin, first + end, out.data + begin * out.stride, out.stride);
  });
}

// Upper triangle of the QR of each tile of `height` rows, in a stack of at most p rows a tile.
template <class T>
std::vector<double> tile_triangles(const Design<T>& d, std::int64_t height) {
  const std::int64_t n = d.n_rows(), p = d.n_cols(), tiles = tiles_of(n, height);
  std::vector<double> stack(static_cast<std::size_t>(tiles * p * p), 0.0);
  for_tiles(tiles, 1, 2 * n * p * p / kMultipliesPerNs, [&](std::int64_t tile, std::int64_t, std::int64_t) {
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
    const int block = static_cast<int>(std::min<std::int64_t>(kReflectors, least));
    std::vector<double> t(static_cast<std::size_t>(block * p)), work(static_cast<std::size_t>(block * p));
    int info = 0;
    blas::geqrt(static_cast<int>(rows), static_cast<int>(p), block, a.get(), static_cast<int>(rows), t.data(), work.data(),
                &info);
    double* const triangle = stack.data() + tile * p * p;   // info is 0: the arguments are in order
    for (std::int64_t j = 0; j < p; ++j) {
      for (std::int64_t i = 0; i <= std::min(j, least - 1); ++i) triangle[i * p + j] = a[static_cast<std::size_t>(j * rows + i)];
    }
  });
  return stack;
}

}   // namespace

template <class T>
void CpuLinear<T>::design_rows(const Design<T>& design, std::int64_t first, MatrixView<double> out) {
  gather_rows(design, first, out);
}

template <class T>
void CpuLinear<T>::design_gram(const Design<T>& design, MatrixView<double> G) {
  const std::int64_t n = design.n_rows(), p = design.n_cols();
  if (p <= kFewColumns) return narrow_gram(design, G);
  const std::int64_t chunk = std::min(n, std::max(kGramRows, kChunkEntries / p / kGramRows * kGramRows));
  auto rows = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(chunk * p));
  auto product = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(p * p));
  std::fill_n(G.data, p * p, 0.0);
  CpuBackend<double> wide;
  for (std::int64_t i = 0; i < n; i += chunk) {
    const MatrixView<double> some(rows.get(), std::min(chunk, n - i), p);
    gather_rows(design, i, some);
    wide.gram(1.0, some, MatrixView<double>(product.get(), p, p));
    for_tiles(p * p, 4096, p * p, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) G.data[e] += product[static_cast<std::size_t>(e)];
    });
  }
}

template <class T>
void CpuLinear<T>::design_triangle(const Design<T>& design, MatrixView<double> R) {
  const std::int64_t n = design.n_rows(), p = design.n_cols(), height = std::max(kLeastTriangleRows, 8 * p);
  if (p == 0) return;
  if (n == 0) {
    std::fill_n(R.data, p * p, 0.0);
    return;
  }
  std::vector<double> stack = tile_triangles(design, height);
  while (static_cast<std::int64_t>(stack.size()) > p * p) {
    const Design<double> triangles{.X = MatrixView<const double>(stack.data(), static_cast<std::int64_t>(stack.size()) / p, p)};
    stack = tile_triangles(triangles, height);
  }
  std::copy(stack.begin(), stack.end(), R.data);
}

template void CpuLinear<float>::design_rows(const Design<float>&, std::int64_t, MatrixView<double>);
template void CpuLinear<double>::design_rows(const Design<double>&, std::int64_t, MatrixView<double>);
template void CpuLinear<float>::design_gram(const Design<float>&, MatrixView<double>);
template void CpuLinear<double>::design_gram(const Design<double>&, MatrixView<double>);
template void CpuLinear<float>::design_triangle(const Design<float>&, MatrixView<double>);
template void CpuLinear<double>::design_triangle(const Design<double>&, MatrixView<double>);

}   // namespace kedge::engine
