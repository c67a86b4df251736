// Long products: pieces are 2 n m k flops in T and (m + n) k values read; adding them reads m n k / kPieceDepth values.
#include "engine/backend/cuda/linear/long_products.cuh"

#include <algorithm>

#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{1} << 27;     // of products before they are added
constexpr std::int64_t kMostPieces = 32768;                     // of one call of cuBLAS
constexpr std::int64_t kStripEntries = std::int64_t{1} << 24;   // of the result at a time
constexpr std::int64_t kStripColumns = 128, kMostStrips = 8;    // of a Gram matrix, whose upper triangle is left out
constexpr int kAcross = 32, kAlong = 16;

// sums[e] (+)= pieces[0][e] + pieces[1][e] + ...: kAlong threads take every kAlong-th piece of an entry.
template <class T>
__global__ void add_pieces(const T* pieces, std::int64_t count, std::int64_t entries, bool is_first, double* sums) {
  __shared__ double own[kAlong][kAcross];
  const std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * kAcross + threadIdx.x;
  double sum = 0;
  for (std::int64_t p = threadIdx.y; e < entries && p < count; p += kAlong)
    sum += static_cast<double>(pieces[p * entries + e]);
  own[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || e >= entries) return;
  for (int y = 1; y < kAlong; ++y) sum += own[y][threadIdx.x];
  sums[e] = is_first ? sum : sums[e] + sum;
}

// C = alpha * sums (no padding) + beta C.
template <class U>
__global__ void finish_product(const double* sums, double alpha, double beta, MatrixView<U> C) {
  const std::int64_t i = own_row();
  if (i >= C.rows) return;
  for (std::int64_t j = threadIdx.x; j < C.cols; j += blockDim.x) {
    U& c = raw(C)[i * C.stride + j];
    const double value = alpha * sums[i * C.cols + j];
    c = static_cast<U>(beta == 0 ? value : value + beta * static_cast<double>(c));
  }
}

template <class T>
__global__ void mirror_lower(MatrixView<T> C) {
  const std::int64_t i = own_row();
  if (i >= C.rows) return;
  for (std::int64_t j = i + 1 + threadIdx.x; j < C.cols; j += blockDim.x)
    raw(C)[i * C.stride + j] = raw(C)[j * C.stride + i];
}

// One operand, seen from its terms: piece after piece along them.
template <class T>
struct Operand {
  MatrixView<const T> M;
  bool along_rows;   // the terms are its rows
  std::int64_t step() const { return along_rows ? M.stride : 1; }
  MatrixView<const T> piece(std::int64_t first, std::int64_t depth) const {
    return along_rows ? M.row_range(first, depth) : MatrixView<const T>(raw(M) + first, M.rows, depth, M.stride);
  }
};

// sums (rows x cols of the product, no padding) = the product of the two.
template <class T>
void sum_product(CudaRuntime& runtime, DeviceLibraries& libraries, const Operand<T>& left, const Operand<T>& right,
                 std::int64_t entries, double* sums) {
  const std::int64_t depth = left.along_rows ? left.M.rows : left.M.cols, whole = depth / kPieceDepth,
                     most = std::min(kMostPieces, kPieceBytes / (entries * static_cast<std::int64_t>(sizeof(T)))),
                     group = std::clamp<std::int64_t>(whole, 1, std::max<std::int64_t>(most, 1));
  Array<T> products(runtime, group * entries);
  const auto add = [&](std::int64_t first, std::int64_t terms, std::int64_t count) {
    libraries.template gemm_pieces<T>(left.along_rows, !right.along_rows, left.piece(first, terms), terms * left.step(),
                                      right.piece(first, terms), terms * right.step(), count, raw(products));
    KEDGE_LAUNCH(runtime, add_pieces<T>, blocks_for(entries, kAcross), dim3(kAcross, kAlong), 0, products.data(), count,
                 entries, first == 0, sums);
  };
  for (std::int64_t p = 0; p < whole; p += group) add(p * kPieceDepth, kPieceDepth, std::min(group, whole - p));
  if (whole * kPieceDepth < depth) add(whole * kPieceDepth, depth - whole * kPieceDepth, 1);
}

}   // namespace

template <class T, class U>
void long_product(CudaRuntime& runtime, DeviceLibraries& libraries, bool transpose_a, bool transpose_b, double alpha,
                  MatrixView<const T> A, MatrixView<const T> B, double beta, MatrixView<U> C) {
  if (C.size() == 0) return;
  const std::int64_t height = std::clamp<std::int64_t>(kStripEntries / C.cols, 1, C.rows);
  Array<double> sums(runtime, height * C.cols);
  for (std::int64_t i = 0; i < C.rows; i += height) {
    const MatrixView<U> strip = C.row_range(i, std::min(height, C.rows - i));
    const MatrixView<const T> own =
        transpose_a ? MatrixView<const T>(raw(A) + i, A.rows, strip.rows, A.stride) : A.row_range(i, strip.rows);
    if ((transpose_a ? A.rows : A.cols) == 0) sums.zero();
    else sum_product<T>(runtime, libraries, {own, transpose_a}, {B, !transpose_b}, strip.size(), raw(sums));
    KEDGE_LAUNCH(runtime, finish_product<U>, row_blocks(strip.rows, C.cols), row_block(C.cols), 0, sums.data(), alpha,
                 beta, strip);
  }
}

template <class T, class U>
void long_gram(CudaRuntime& runtime, DeviceLibraries& libraries, double alpha, MatrixView<const T> A, double beta,
               MatrixView<U> C) {
  const std::int64_t width = std::max(kStripColumns, tiles_of(tiles_of(A.cols, kMostStrips), 32) * 32);
  for (std::int64_t c = 0; c < A.cols; c += width) {
    const std::int64_t own = std::min(width, A.cols - c);
    long_product<T, U>(runtime, libraries, true, false, alpha, {raw(A) + c, A.rows, own, A.stride},
                       {raw(A), A.rows, c + own, A.stride}, beta, {raw(C) + c * C.stride, own, c + own, C.stride});
  }
  KEDGE_LAUNCH(runtime, mirror_lower<U>, row_blocks(C.rows, C.cols), row_block(C.cols), 0, C);
}

#define KEDGE_INSTANTIATE(T, U)                                                                       \
  template void long_product(CudaRuntime&, DeviceLibraries&, bool, bool, double, MatrixView<const T>, \
                             MatrixView<const T>, double, MatrixView<U>);                             \
  template void long_gram(CudaRuntime&, DeviceLibraries&, double, MatrixView<const T>, double, MatrixView<U>);
KEDGE_INSTANTIATE(float, float)
KEDGE_INSTANTIATE(double, double)
#undef KEDGE_INSTANTIATE

}   // namespace kedge::engine
