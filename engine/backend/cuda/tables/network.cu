// Layers of neural networks on the GPU. Each kernel reads and writes a batch once; losses are summed by block, each
// block into a place of its own, so that no step waits for the host and no order is left to chance.
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/network_functors.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128, kWide = 32, kTall = 8;

template <class T>
__global__ void activate_cells(Activation f, const T* bias, std::int64_t rows, std::int64_t cols, std::int64_t stride,
                               T* Z) {
  const std::int64_t i = own_row();
  if (i >= rows) return;
  for (std::int64_t j = threadIdx.x; j < cols; j += blockDim.x)
    Z[i * stride + j] = activated(f, bias ? Z[i * stride + j] + bias[j] : Z[i * stride + j]);
}

// A block takes 32 columns of a tile of rows; its warps share the rows. `only` is where sums go if there is one tile.
template <class T>
__global__ void slope_cells(Activation f, const T* A, std::int64_t a_stride, std::int64_t rows, std::int64_t cols,
                            std::int64_t stride, T* D, double* partial, double scale, T* only) {
  __shared__ double sums[kTall][kWide];
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kWide + threadIdx.x, tile = block_y();
  const std::int64_t begin = tile * kRowTile, end = begin + kRowTile < rows ? begin + kRowTile : rows;
  double sum = 0;
  for (std::int64_t i = begin + threadIdx.y; j < cols && i < end; i += kTall) {
    const T d = sloped(f, A ? A[i * a_stride + j] : T{0}, D[i * stride + j]);
    D[i * stride + j] = d;
    sum += static_cast<double>(d);
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || j >= cols || begin >= rows) return;
  for (int w = 1; w < kTall; ++w) sum += sums[w][threadIdx.x];
  if (only) only[j] = static_cast<T>(scale * sum);
  else partial[tile * cols + j] = sum;
}

template <class T>
__global__ void add_tiles(const double* partial, std::int64_t tiles, std::int64_t cols, double scale, T* out) {
  const std::int64_t j = own_item();
  if (j >= cols) return;
  double sum = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) sum += partial[tile * cols + j];
  out[j] = static_cast<T>(scale * sum);
}

// The block's sum of `value` goes to its place of `sums`. All threads of the block call it.
__device__ void add_to_place(double value, double scale, double* sums) {
  __shared__ double shared[kThreads];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int width = kThreads / 2; width > 0; width /= 2) {
    if (static_cast<int>(threadIdx.x) < width) shared[threadIdx.x] += shared[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] += scale * shared[0];
}

template <class T>
__global__ void output_rows(OutputLoss loss, const T* bias, Goals<T> goals, double scale, std::int64_t rows,
                            std::int64_t cols, std::int64_t stride, T* Z, double* sums) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  double sum = 0;
  for (std::int64_t i = own_item(); i < rows; i += step)
    sum += output_row(loss, bias, goals, raw(goals.batch)[i], Z + i * stride, cols);
  add_to_place(sum, scale, sums);
}

template <class T>
__global__ void descend_cells(StepConstants<T> c, std::int64_t n_weights, double scale, const T* gradient,
                              std::int64_t n, T* parameters, T* first, T* second, double* sums) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  double squares = 0;
  for (std::int64_t j = own_item(); j < n; j += step) {
    const T p = parameters[j], g = gradient[j] + (j < n_weights ? c.penalty * p : T{0});
    T m = first[j];
    if (c.is_adam) {
      T v = second[j];
      parameters[j] = p + adam_step(c, g, m, v);
      second[j] = v;
    } else {
      parameters[j] = p + momentum_step(c, g, m);
    }
    first[j] = m;
    if (j < n_weights) squares += static_cast<double>(p) * static_cast<double>(p);
  }
  add_to_place(squares, scale, sums);
}

unsigned loss_blocks(std::int64_t n) {
  const unsigned blocks = blocks_for(n, kThreads);
  return blocks < kLossSums ? blocks : static_cast<unsigned>(kLossSums);
}

template <class T>
class CudaNetwork final : public NetworkOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void activate(Activation f, VectorView<const T> bias, MatrixView<T> Z) override {
    KEDGE_LAUNCH(runtime_, activate_cells<T>, row_blocks(Z.rows, Z.cols), row_block(Z.cols), 0, f,
                 bias.empty() ? nullptr : raw(bias), Z.rows, Z.cols, Z.stride, raw(Z));
  }

  void backward(Activation f, MatrixView<const T> A, double scale, MatrixView<T> D,
                VectorView<T> bias_gradient) override {
    const std::int64_t tiles = tiles_of(D.rows, kRowTile);
    Array<double> partial(runtime_, tiles > 1 ? tiles * D.cols : 0);
    KEDGE_LAUNCH(runtime_, slope_cells<T>, tall_grid(runtime_, blocks_for(D.cols, kWide), static_cast<unsigned>(tiles)),
                 dim3(kWide, kTall), 0, f, f == Activation::kIdentity ? nullptr : raw(A), A.stride, D.rows, D.cols,
                 D.stride, raw(D), partial.data(), scale, tiles == 1 ? raw(bias_gradient) : nullptr);
    if (tiles == 1) return;
    KEDGE_LAUNCH(runtime_, add_tiles<T>, blocks_for(D.cols, kThreads), kThreads, 0, partial.data(), tiles, D.cols,
                 scale, raw(bias_gradient));
  }

  void output(OutputLoss loss, VectorView<const T> bias, const Goals<T>& goals, double scale, MatrixView<T> Z,
              VectorView<double> sums) override {
    KEDGE_LAUNCH(runtime_, output_rows<T>, loss_blocks(Z.rows), kThreads, 0, loss, bias.empty() ? nullptr : raw(bias),
                 goals, scale, Z.rows, Z.cols, Z.stride, raw(Z), raw(sums));
  }

  void descend(const DescentStep& step, VectorView<const T> gradient, VectorView<T> parameters, VectorView<T> first,
               VectorView<T> second, VectorView<double> sums) override {
    KEDGE_LAUNCH(runtime_, descend_cells<T>, loss_blocks(parameters.size), kThreads, 0, StepConstants<T>(step),
                 step.n_weights, step.loss_scale * step.penalty / 2, raw(gradient), parameters.size, raw(parameters),
                 raw(first), raw(second), raw(sums));
  }
};

}   // namespace

template <class T>
std::unique_ptr<NetworkOps<T>> make_cuda_network(const CudaParts<T>& parts) {
  return std::make_unique<CudaNetwork<T>>(parts);
}
template std::unique_ptr<NetworkOps<float>> make_cuda_network<float>(const CudaParts<float>&);
template std::unique_ptr<NetworkOps<double>> make_cuda_network<double>(const CudaParts<double>&);

}   // namespace kedge::engine
