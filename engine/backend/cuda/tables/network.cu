// Layers of neural networks on the GPU. Each kernel reads and writes a batch once; losses are summed by block, each
// block into a place of its own, so that no step waits for the host and no order is left to chance.
#include <optional>
#include <span>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/cuda/tables/network_steps.cuh"
#include "engine/backend/network_functors.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kWide = 32, kTall = 8;
constexpr int kSlopeWarps = 32, kPiece = 128;   // of slope_cells: warps of a block; rows in shared memory

// A batch has few rows, so more threads share one than row_block() gives.
dim3 batch_block(std::int64_t cols) {
  unsigned across = 1;
  while (across < 256 && across < cols) across *= 2;
  return dim3(across, 256 / across);
}
unsigned batch_blocks(std::int64_t rows, std::int64_t cols) {
  return blocks_for(rows, batch_block(cols).y);
}

template <class T>
__global__ void activate_cells(Activation f, const T* bias, std::int64_t rows, std::int64_t cols, std::int64_t stride,
                               T* Z) {
  const std::int64_t i = own_row();
  if (i >= rows) return;
  for (std::int64_t j = threadIdx.x; j < cols; j += blockDim.x)
    Z[i * stride + j] = activated(f, bias ? Z[i * stride + j] + bias[j] : Z[i * stride + j]);
}

// A block takes 32 columns of a tile of rows. All its warps make slopes, of a piece of the tile at a time, and eight
// add them up, each every eighth row. `only` is where sums go if there is one tile.
template <class T>
__global__ void slope_cells(Activation f, const T* A, std::int64_t a_stride, std::int64_t rows, std::int64_t cols,
                            std::int64_t stride, T* D, double* partial, double scale, T* only) {
  static_assert(kRowTile % kPiece == 0 && kPiece % kTall == 0);   // or the order of a sum would be another
  __shared__ T piece[kPiece][kWide];
  __shared__ double sums[kTall][kWide];
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kWide + threadIdx.x, tile = block_y();
  const std::int64_t begin = tile * kRowTile, end = begin + kRowTile < rows ? begin + kRowTile : rows;
  double sum = 0;
  for (std::int64_t first = begin; first < end; first += kPiece) {
    const std::int64_t n = j < cols ? (first + kPiece < end ? kPiece : end - first) : 0;
    for (std::int64_t i = threadIdx.y; i < n; i += kSlopeWarps) {
      const std::int64_t row = first + i;
      const T d = sloped(f, A ? A[row * a_stride + j] : T{0}, D[row * stride + j]);
      D[row * stride + j] = d;
      piece[i][threadIdx.x] = d;
    }
    __syncthreads();
    for (std::int64_t i = threadIdx.y; threadIdx.y < kTall && i < n; i += kTall)
      sum += static_cast<double>(piece[i][threadIdx.x]);
    __syncthreads();
  }
  if (threadIdx.y < kTall) sums[threadIdx.y][threadIdx.x] = sum;
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

template <class T>
__global__ void output_rows(OutputLoss loss, const T* bias, Goals<T> goals, double scale, std::int64_t rows,
                            std::int64_t cols, std::int64_t stride, T* Z, double* sums) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  double sum = 0;
  for (std::int64_t i = own_item(); i < rows; i += step)
    sum += output_row(loss, bias, goals, raw(goals.batch)[i], Z + i * stride, cols);
  add_to_place(sum, scale, sums);
}

// The sum over the block's warps of one column's values, for the threads of a column alike. All threads call it.
__device__ double column_sum(double value, double (*sums)[kWide]) {
  __syncthreads();
  sums[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  double sum = 0;
  for (int w = 0; w < kTall; ++w) sum += sums[w][threadIdx.x];
  return sum;
}

// A block takes 32 columns and all rows of a batch; its warps share the rows.
template <class T>
__global__ void normalize_columns(double epsilon, const T* scale, const T* shift, std::int64_t rows, std::int64_t cols,
                                  std::int64_t stride, T* Z, std::int64_t h_stride, T* H, double* spread,
                                  double momentum, double* moving) {
  __shared__ double sums[kTall][kWide];
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kWide + threadIdx.x, last = j < cols ? rows : 0;
  const double n = static_cast<double>(rows);
  double sum = 0, squares = 0;
  for (std::int64_t i = threadIdx.y; i < last; i += kTall) sum += static_cast<double>(Z[i * stride + j]);
  const double mean = column_sum(sum, sums) / n;
  for (std::int64_t i = threadIdx.y; i < last; i += kTall) {
    const double difference = static_cast<double>(Z[i * stride + j]) - mean;
    squares += difference * difference;
  }
  const double variance = column_sum(squares, sums) / n;
  if (j >= cols) return;
  const double own = 1 / sqrt(variance + epsilon);
  for (std::int64_t i = threadIdx.y; i < rows; i += kTall) {
    const double h = (static_cast<double>(Z[i * stride + j]) - mean) * own;
    if (H) H[i * h_stride + j] = static_cast<T>(h);
    Z[i * stride + j] = static_cast<T>(static_cast<double>(scale[j]) * h + static_cast<double>(shift[j]));
  }
  if (threadIdx.y != 0) return;
  spread[j] = own;
  if (!moving) return;
  moving[j] += momentum * (mean - moving[j]);
  moving[cols + j] += momentum * (variance * (rows > 1 ? n / (n - 1) : 1) - moving[cols + j]);
}

// A warp takes a row, for the formulas that go along it. `value(j)` is read by the lanes in turn.
template <class Value>
__device__ double lanes_sum(std::int64_t cols, double* shared, Value value) {
  double sum = 0;
  for (std::int64_t j = threadIdx.x; j < cols; j += kWide) sum += value(j);
  __syncthreads();
  shared[threadIdx.x] = sum;
  __syncthreads();
  double all = 0;
  for (int lane = 0; lane < kWide; ++lane) all += shared[lane];
  return all;
}

template <class T>
__global__ void normalize_rows_of(double epsilon, const T* scale, const T* shift, std::int64_t rows, std::int64_t cols,
                                  std::int64_t stride, T* Z, std::int64_t h_stride, T* H, double* spread) {
  __shared__ double shared[kTall][kWide];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kTall + threadIdx.y, width = i < rows ? cols : 0;
  T* const z = Z + (i < rows ? i : 0) * stride;
  const double n = static_cast<double>(cols);
  const double mean = lanes_sum(width, shared[threadIdx.y], [=](std::int64_t j) { return double(z[j]); }) / n;
  const double variance = lanes_sum(width, shared[threadIdx.y],
                                    [=](std::int64_t j) { return (double(z[j]) - mean) * (double(z[j]) - mean); }) /
                          n;
  const double own = 1 / sqrt(variance + epsilon);
  for (std::int64_t j = threadIdx.x; j < width; j += kWide) {
    const double h = (static_cast<double>(z[j]) - mean) * own;
    if (H) H[i * h_stride + j] = static_cast<T>(h);
    z[j] = static_cast<T>(static_cast<double>(scale[j]) * h + static_cast<double>(shift[j]));
  }
  if (i < rows && threadIdx.x == 0) spread[i] = own;
}

template <class T>
__global__ void normalize_seen(double epsilon, const T* scale, const T* shift, const double* moving, std::int64_t rows,
                               std::int64_t cols, std::int64_t stride, T* Z) {
  const std::int64_t i = own_row();
  if (i >= rows) return;
  for (std::int64_t j = threadIdx.x; j < cols; j += blockDim.x) {
    const double h = (static_cast<double>(Z[i * stride + j]) - moving[j]) / sqrt(moving[cols + j] + epsilon);
    Z[i * stride + j] = static_cast<T>(static_cast<double>(scale[j]) * h + static_cast<double>(shift[j]));
  }
}

// Sums over the rows of D and of D * H; with `spread`, also what D becomes under a normalisation of its columns.
template <class T>
__global__ void return_columns(const T* scale, std::int64_t h_stride, const T* H, const double* spread,
                               double gradient_scale, std::int64_t rows, std::int64_t cols, std::int64_t stride, T* D,
                               T* scale_gradient, T* shift_gradient) {
  __shared__ double sums[kTall][kWide];
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kWide + threadIdx.x, last = j < cols ? rows : 0;
  double sum = 0, products = 0;
  for (std::int64_t i = threadIdx.y; i < last; i += kTall) {
    const double d = static_cast<double>(D[i * stride + j]);
    sum += d, products += d * static_cast<double>(H[i * h_stride + j]);
  }
  sum = column_sum(sum, sums), products = column_sum(products, sums);
  if (j >= cols) return;
  for (std::int64_t i = threadIdx.y; spread && i < rows; i += kTall) {
    const double d = normal_slope(static_cast<double>(D[i * stride + j]), static_cast<double>(H[i * h_stride + j]), sum,
                                  products, static_cast<double>(rows), spread[j]);
    D[i * stride + j] = static_cast<T>(static_cast<double>(scale[j]) * d);
  }
  if (threadIdx.y != 0) return;
  scale_gradient[j] = static_cast<T>(gradient_scale * products);
  shift_gradient[j] = static_cast<T>(gradient_scale * sum);
}

template <class T>
__global__ void return_rows(const T* scale, std::int64_t h_stride, const T* H, const double* spread, std::int64_t rows,
                            std::int64_t cols, std::int64_t stride, T* D) {
  __shared__ double shared[kTall][kWide];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kTall + threadIdx.y, width = i < rows ? cols : 0;
  T* const d = D + (i < rows ? i : 0) * stride;
  const T* const h = H + (i < rows ? i : 0) * h_stride;
  const auto own = [=](std::int64_t j) { return double(d[j]) * double(scale[j]); };
  const double sum = lanes_sum(width, shared[threadIdx.y], own);
  const double products = lanes_sum(width, shared[threadIdx.y], [=](std::int64_t j) { return own(j) * double(h[j]); });
  for (std::int64_t j = threadIdx.x; j < width; j += kWide)
    d[j] = static_cast<T>(normal_slope(own(j), double(h[j]), sum, products, static_cast<double>(cols), spread[i]));
}

template <class T>
__global__ void square_gradient(std::int64_t n, const T* gradient, double* places) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  double squares = 0;
  for (std::int64_t j = own_item(); j < n; j += step) squares += double(gradient[j]) * double(gradient[j]);
  if (threadIdx.x == 0) places[blockIdx.x] = 0;
  __syncthreads();
  add_to_place(squares, 1, places);
}

template <class T>
__global__ void clip_gradient(double most, std::int64_t n, T* gradient, int n_places, const double* places) {
  double squares = 0;
  for (int place = 0; place < n_places; ++place) squares += places[place];
  const double factor = clip_factor(most, squares);
  const std::int64_t j = own_item();
  if (factor < 1 && j < n) gradient[j] = static_cast<T>(static_cast<double>(gradient[j]) * factor);
}

template <class T>
__global__ void first_no_code(MatrixView<const T> X, const std::int32_t* columns, std::int64_t n_columns,
                              std::int64_t n_codes, unsigned long long* first) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  for (std::int64_t c = threadIdx.x; c < n_columns; c += blockDim.x) {
    if (!is_code(raw(X)[i * X.stride + columns[c]], n_codes))
      atomicMin(first, static_cast<unsigned long long>(i * X.cols + columns[c]));
  }
}

template <class T>
__global__ void embed_cells(MatrixView<const T> X, const std::int32_t* columns, std::int64_t cells,
                            MatrixView<const T> table, MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  for (std::int64_t e = threadIdx.x; e < cells; e += blockDim.x) {
    const auto code = static_cast<std::int64_t>(raw(X)[i * X.stride + columns[e / table.cols]]);
    raw(out)[i * out.stride + e] = raw(table)[code * table.stride + e % table.cols];
  }
}

// The codes of X's cells by rows and then columns, and their places in that order.
template <class T>
__global__ void list_codes(MatrixView<const T> X, const std::int32_t* columns, std::int64_t n_columns,
                           std::int32_t* codes, std::int32_t* places) {
  const std::int64_t p = own_item();
  if (p >= X.rows * n_columns) return;
  codes[p] = static_cast<std::int32_t>(raw(X)[p / n_columns * X.stride + columns[p % n_columns]]);
  places[p] = static_cast<std::int32_t>(p);
}

template <class T>
__global__ void clear_cells(MatrixView<T> A) {
  const std::int64_t i = own_row();
  if (i >= A.rows) return;
  for (std::int64_t j = threadIdx.x; j < A.cols; j += blockDim.x) raw(A)[i * A.stride + j] = T{0};
}

// Codes ascend. The threads of a row of the block share the numbers of the vector whose first cell is theirs.
template <class T>
__global__ void sum_by_code(const std::int32_t* codes, const std::int32_t* places, std::int64_t n,
                            std::int64_t n_columns, double scale, MatrixView<const T> D, MatrixView<T> gradient) {
  const std::int64_t first = own_row();
  if (first >= n || (first > 0 && codes[first - 1] == codes[first])) return;
  const std::int32_t code = codes[first];
  for (std::int64_t j = threadIdx.x; j < gradient.cols; j += blockDim.x) {
    double sum = 0;
    for (std::int64_t q = first; q < n && codes[q] == code; ++q)
      sum += static_cast<double>(raw(D)[places[q] / n_columns * D.stride + places[q] % n_columns * gradient.cols + j]);
    raw(gradient)[code * gradient.stride + j] = static_cast<T>(scale * sum);
  }
}

unsigned loss_blocks(std::int64_t n) {
  const unsigned blocks = blocks_for(n, kThreads);
  return blocks < kLossSums ? blocks : static_cast<unsigned>(kLossSums);
}

template <class T>
class CudaNetwork final : public NetworkOps<T>, public BatchOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void activate(Activation f, VectorView<const T> bias, MatrixView<T> Z) override {
    KEDGE_LAUNCH(runtime_, activate_cells<T>, batch_blocks(Z.rows, Z.cols), batch_block(Z.cols), 0, f,
                 bias.empty() ? nullptr : raw(bias), Z.rows, Z.cols, Z.stride, raw(Z));
  }

  void backward(Activation f, MatrixView<const T> A, double scale, MatrixView<T> D,
                VectorView<T> bias_gradient) override {
    const std::int64_t tiles = tiles_of(D.rows, kRowTile);
    Array<double> partial;
    if (tiles > 1) partial = Array<double>(runtime_, tiles * D.cols);
    KEDGE_LAUNCH(runtime_, slope_cells<T>, tall_grid(runtime_, blocks_for(D.cols, kWide), static_cast<unsigned>(tiles)),
                 dim3(kWide, kSlopeWarps), 0, f, f == Activation::kIdentity ? nullptr : raw(A), A.stride, D.rows,
                 D.cols, D.stride, raw(D), partial.data(), scale, tiles == 1 ? raw(bias_gradient) : nullptr);
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
    put_descent(nullptr, step, gradient, parameters, first, second, sums);
  }
  void descend_in_batch(const BatchQueue& queue, const DescentStep& step, VectorView<const T> gradient,
                        VectorView<T> parameters, VectorView<T> first, VectorView<T> second,
                        VectorView<double> sums) override {
    put_descent(&queue, step, gradient, parameters, first, second, sums);
  }
  void drop(double rate, std::uint64_t seed, std::uint64_t stream, MatrixView<T> Z) override {
    KEDGE_LAUNCH(runtime_, drop_cells<T>, batch_blocks(Z.rows, Z.cols), batch_block(Z.cols), 0, nullptr, rate, seed,
                 stream, Z.rows, Z.cols, Z.stride, raw(Z));
  }
  void drop_in_batch(const BatchQueue& queue, double rate, std::uint64_t seed, std::uint64_t layer,
                     MatrixView<T> Z) override {
    KEDGE_LAUNCH(runtime_, drop_cells<T>, batch_blocks(Z.rows, Z.cols), batch_block(Z.cols), 0, raw(queue.now), rate,
                 seed, layer, Z.rows, Z.cols, Z.stride, raw(Z));
  }

  void take_batch(const BatchQueue& queue, MatrixView<const T> X, VectorView<const std::int32_t> order,
                  VectorView<std::int32_t> rows, MatrixView<T> out) override {
    const bool in_pieces = lies_in_pieces(X) && lies_in_pieces(out);
    const std::int64_t across = in_pieces ? tiles_of(X.cols, 4) : X.cols;
    KEDGE_LAUNCH(runtime_, take_rows<T>, batch_blocks(out.rows, across), batch_block(across), 0, raw(queue.all),
                 raw(queue.next), raw(queue.now), X, raw(order), in_pieces, raw(rows), out);
  }

  void normalize(NormOver over, double epsilon, VectorView<const T> scale, VectorView<const T> shift, MatrixView<T> Z,
                 MatrixView<T> H, VectorView<double> spread, double momentum, VectorView<double> moving) override {
    T* const h = raw(H);
    if (over == NormOver::kRow)
      KEDGE_LAUNCH(runtime_, normalize_rows_of<T>, blocks_for(Z.rows, kTall), dim3(kWide, kTall), 0, epsilon,
                   raw(scale), raw(shift), Z.rows, Z.cols, Z.stride, raw(Z), H.stride, h, raw(spread));
    else
      KEDGE_LAUNCH(runtime_, normalize_columns<T>, blocks_for(Z.cols, kWide), dim3(kWide, kTall), 0, epsilon,
                   raw(scale), raw(shift), Z.rows, Z.cols, Z.stride, raw(Z), H.stride, h, raw(spread), momentum,
                   moving.empty() ? nullptr : raw(moving));
  }

  void normalize_as_seen(double epsilon, VectorView<const T> scale, VectorView<const T> shift,
                         VectorView<const double> moving, MatrixView<T> Z) override {
    KEDGE_LAUNCH(runtime_, normalize_seen<T>, row_blocks(Z.rows, Z.cols), row_block(Z.cols), 0, epsilon, raw(scale),
                 raw(shift), raw(moving), Z.rows, Z.cols, Z.stride, raw(Z));
  }

  void normalize_backward(NormOver over, VectorView<const T> scale, MatrixView<const T> H,
                          VectorView<const double> spread, double gradient_scale, MatrixView<T> D,
                          VectorView<T> scale_gradient, VectorView<T> shift_gradient) override {
    const bool by_rows = over == NormOver::kRow;
    KEDGE_LAUNCH(runtime_, return_columns<T>, blocks_for(D.cols, kWide), dim3(kWide, kTall), 0, raw(scale), H.stride,
                 raw(H), by_rows ? nullptr : raw(spread), gradient_scale, D.rows, D.cols, D.stride, raw(D),
                 raw(scale_gradient), raw(shift_gradient));
    if (!by_rows) return;
    KEDGE_LAUNCH(runtime_, return_rows<T>, blocks_for(D.rows, kTall), dim3(kWide, kTall), 0, raw(scale), H.stride,
                 raw(H), raw(spread), D.rows, D.cols, D.stride, raw(D));
  }

  void clip_norm(double most, VectorView<T> gradient, VectorView<double> places) override {
    const unsigned blocks = loss_blocks(gradient.size);
    KEDGE_LAUNCH(runtime_, square_gradient<T>, blocks, kThreads, 0, gradient.size, raw(gradient), raw(places));
    KEDGE_LAUNCH(runtime_, clip_gradient<T>, blocks_for(gradient.size, kThreads), kThreads, 0, most, gradient.size,
                 raw(gradient), static_cast<int>(blocks), raw(places));
  }

  std::optional<Cell> find_no_code(MatrixView<const T> X, VectorView<const std::int32_t> columns,
                                   std::int64_t n_codes) override {
    constexpr unsigned long long kNone = ~0ull;
    if (X.rows == 0) return std::nullopt;
    Array<unsigned long long> first(runtime_, std::span<const unsigned long long>(&kNone, 1));
    KEDGE_LAUNCH(runtime_, first_no_code<T>, row_blocks(X.rows, columns.size), row_block(columns.size), 0, X,
                 raw(columns), columns.size, n_codes, first.data());
    const unsigned long long cell = first.to_host()[0];
    if (cell == kNone) return std::nullopt;
    return Cell{static_cast<std::int64_t>(cell) / X.cols, static_cast<std::int64_t>(cell) % X.cols};
  }

  void embed(MatrixView<const T> X, VectorView<const std::int32_t> columns, MatrixView<const T> table,
             MatrixView<T> out) override {
    const std::int64_t cells = columns.size * table.cols;
    KEDGE_LAUNCH(runtime_, embed_cells<T>, row_blocks(X.rows, cells), row_block(cells), 0, X, raw(columns), cells,
                 table, out);
  }

  // A stable sort of the cells by code keeps their order in each.
  void embed_backward(MatrixView<const T> X, VectorView<const std::int32_t> columns, double scale,
                      MatrixView<const T> D, MatrixView<T> gradient) override {
    const std::int64_t n = X.rows * columns.size;
    Array<std::int32_t> codes(runtime_, n), places(runtime_, n);
    KEDGE_LAUNCH(runtime_, clear_cells<T>, row_blocks(gradient.rows, gradient.cols), row_block(gradient.cols), 0,
                 gradient);
    KEDGE_LAUNCH(runtime_, list_codes<T>, blocks_for(n, kThreads), kThreads, 0, X, raw(columns), columns.size,
                 codes.data(), places.data());
    libraries_.sort_pairs(raw(codes), raw(places), n);
    KEDGE_LAUNCH(runtime_, sum_by_code<T>, row_blocks(n, gradient.cols), row_block(gradient.cols), 0, codes.data(),
                 places.data(), n, columns.size, scale, D, gradient);
  }

 private:
  // Without a queue by the step's own numbers.
  void put_descent(const BatchQueue* queue, const DescentStep& step, VectorView<const T> gradient,
                   VectorView<T> parameters, VectorView<T> first, VectorView<T> second, VectorView<double> sums) {
    KEDGE_LAUNCH(runtime_, descend_cells<T>, loss_blocks(parameters.size), kThreads, 0, StepConstants<T>(step),
                 queue ? raw(queue->now) : nullptr, queue ? raw(queue->next) : nullptr, step.n_weights,
                 step.loss_scale * step.penalty / 2, raw(gradient), parameters.size, raw(parameters), raw(first),
                 raw(second), raw(sums));
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
