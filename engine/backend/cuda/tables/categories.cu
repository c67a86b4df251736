// Categories and missing cells on the GPU: take columns, look cells up in dictionaries, one-hot codes, fill in what is
// missing. All are bound by reading their input and writing their output once; neighbouring threads write neighbouring
// cells. Dictionaries are small and stay in the caches. Classes are counted in shared memory, by each lane of a warp
// apart while they are few.
#include <algorithm>

#include "engine/backend/category_functors.h"
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

template <class T>
struct Cells {   // a matrix, or rows of one by position
  T* data;
  std::int64_t rows, cols, stride;
  const std::int32_t* chosen;   // null: all, in order
  __device__ T* row(std::int64_t i) const { return data + (chosen ? std::int64_t{chosen[i]} : i) * stride; }
};

template <class T>
Cells<T> cells(MatrixView<T> X, VectorView<const std::int32_t> rows = {}) {
  return {raw(X), rows.empty() ? X.rows : rows.size, X.cols, X.stride, rows.empty() ? nullptr : raw(rows)};
}

template <class T>
__global__ void take(Cells<const T> X, const std::int32_t* columns, Cells<T> out) {
  const std::int64_t i = own_row();
  if (i >= out.rows) return;
  for (std::int64_t c = threadIdx.x; c < out.cols; c += blockDim.x) out.row(i)[c] = X.row(i)[columns[c]];
}

template <class T>
struct Dictionaries {
  const std::int64_t* offsets;
  const T *keys, *values, *missing, *unknown;
};

template <class T>
__global__ void translate_cells(Cells<const T> X, Dictionaries<T> words, Cells<T> out) {
  const std::int64_t i = own_row();
  if (i >= out.rows) return;
  for (std::int64_t j = threadIdx.x; j < out.cols; j += blockDim.x) {
    const std::int64_t first = words.offsets[j];
    out.row(i)[j] = translated(X.row(i)[j], words.keys + first, words.values + first, words.offsets[j + 1] - first,
                               words.missing[j], words.unknown[j]);
  }
}

// A row belongs to one warp or a part of it, so that its zeros are there before its ones.
template <class T>
__global__ void set_ones(Cells<const T> positions, Cells<T> out) {
  const std::int64_t i = own_row();
  if (i < out.rows) {
    for (std::int64_t c = threadIdx.x; c < out.cols; c += blockDim.x) out.row(i)[c] = T{0};
  }
  __syncthreads();
  if (i >= out.rows) return;
  for (std::int64_t j = threadIdx.x; j < positions.cols; j += blockDim.x) {
    const T position = positions.row(i)[j];
    if (is_column(position, out.cols)) out.row(i)[static_cast<std::int64_t>(position)] = T{1};
  }
}

template <class T>
__global__ void fill_cells(const T* missing, const T* fill, Cells<T> X) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  for (std::int64_t j = threadIdx.x; j < X.cols; j += blockDim.x) {
    if (is_missing_cell(X.row(i)[j], missing[j])) X.row(i)[j] = fill[j];
  }
}

template <class T>
__global__ void mark_cells(Cells<const T> X, const T* missing, const std::int32_t* columns, Cells<T> out) {
  const std::int64_t i = own_row();
  if (i >= out.rows) return;
  for (std::int64_t c = threadIdx.x; c < out.cols; c += blockDim.x)
    out.row(i)[c] = is_missing_cell(X.row(i)[columns[c]], missing[columns[c]]) ? T{1} : T{0};
}

constexpr int kCountWords = 8192;   // of shared memory, 32 KiB
constexpr int kCountThreads = 256, kCountsOfThread = 32;
constexpr unsigned kMostCountBlocks = 1024;

// `copies` counts of each class, the lanes of a warp spread over them: of few classes all would meet at one word. None:
// the classes are too many for shared memory.
__global__ void count_classes(const std::int32_t* codes, std::int64_t n, int classes, int copies,
                              unsigned long long* counts) {
  __shared__ unsigned own[kCountWords];
  const int thread = static_cast<int>(threadIdx.x), step = static_cast<int>(blockDim.x);
  for (int w = thread; w < classes * copies; w += step) own[w] = 0;
  __syncthreads();
  for (std::int64_t i = own_item(); i < n; i += static_cast<std::int64_t>(gridDim.x) * step) {
    if (copies > 0) atomicAdd(own + codes[i] * copies + thread % copies, 1u);
    else atomicAdd(counts + codes[i], 1ull);
  }
  __syncthreads();
  for (int c = thread; c < classes && copies > 0; c += step) {
    unsigned long long sum = 0;
    for (int k = 0; k < copies; ++k) sum += own[c * copies + k];
    if (sum > 0) atomicAdd(counts + c, sum);
  }
}

__global__ void renumber(const std::int32_t* codes, std::int64_t n, const std::int32_t* to, std::int32_t* out) {
  const std::int64_t i = own_item();
  if (i < n) out[i] = to[codes[i]];
}

template <class T>
class CudaCategories final : public CategoryOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void take_columns(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int32_t> columns,
                    MatrixView<T> out) override {
    KEDGE_LAUNCH(runtime_, take<T>, row_blocks(out.rows, out.cols), row_block(out.cols), 0, cells(X, rows),
                 raw(columns), cells(out));
  }

  void translate(MatrixView<const T> X, VectorView<const std::int32_t> rows, VectorView<const std::int64_t> offsets,
                 VectorView<const T> keys, VectorView<const T> values, VectorView<const T> missing,
                 VectorView<const T> unknown, MatrixView<T> out) override {
    const Dictionaries<T> words{raw(offsets), raw(keys), raw(values), raw(missing), raw(unknown)};
    KEDGE_LAUNCH(runtime_, translate_cells<T>, row_blocks(out.rows, out.cols), row_block(out.cols), 0, cells(X, rows),
                 words, cells(out));
  }

  void one_hot(MatrixView<const T> positions, MatrixView<T> out) override {
    KEDGE_LAUNCH(runtime_, set_ones<T>, row_blocks(out.rows, out.cols), row_block(out.cols), 0, cells(positions),
                 cells(out));
  }

  void fill_missing(VectorView<const T> missing, VectorView<const T> fill, MatrixView<T> X) override {
    KEDGE_LAUNCH(runtime_, fill_cells<T>, row_blocks(X.rows, X.cols), row_block(X.cols), 0, raw(missing), raw(fill),
                 cells(X));
  }

  void mark_missing(MatrixView<const T> X, VectorView<const T> missing, VectorView<const std::int32_t> columns,
                    MatrixView<T> out) override {
    KEDGE_LAUNCH(runtime_, mark_cells<T>, row_blocks(out.rows, out.cols), row_block(out.cols), 0, cells(X),
                 raw(missing), raw(columns), cells(out));
  }

  void count_codes(VectorView<const std::int32_t> codes, VectorView<std::int64_t> counts) override {
    if (counts.empty()) return;
    runtime_.zero(raw(counts), static_cast<std::size_t>(counts.size) * sizeof(std::int64_t));
    const auto copies = static_cast<int>(std::min<std::int64_t>(kCountWords / counts.size, kLanes));
    const unsigned blocks = std::min(blocks_for(codes.size, kCountThreads * kCountsOfThread), kMostCountBlocks);
    KEDGE_LAUNCH(runtime_, count_classes, blocks, kCountThreads, 0, raw(codes), codes.size,
                 static_cast<int>(counts.size), copies, reinterpret_cast<unsigned long long*>(raw(counts)));
  }

  void map_codes(VectorView<const std::int32_t> codes, VectorView<const std::int32_t> to,
                 VectorView<std::int32_t> out) override {
    KEDGE_LAUNCH(runtime_, renumber, blocks_for(codes.size, kCountThreads), kCountThreads, 0, raw(codes), codes.size,
                 raw(to), raw(out));
  }
};

}   // namespace

template <class T>
std::unique_ptr<CategoryOps<T>> make_cuda_categories(const CudaParts<T>& parts) {
  return std::make_unique<CudaCategories<T>>(parts);
}
template std::unique_ptr<CategoryOps<float>> make_cuda_categories<float>(const CudaParts<float>&);
template std::unique_ptr<CategoryOps<double>> make_cuda_categories<double>(const CudaParts<double>&);

}  // namespace kedge::engine
