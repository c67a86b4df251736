// Kernels whose numbers differ from batch to batch: each takes them from the host, or from the queue of batches on the
// device (engine/backend/ops/batch_steps.h). No kernel writes what a block of it reads.
#pragma once

#include "engine/backend/cuda/pieces.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/network_functors.h"
#include "engine/backend/ops/batch_steps.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128;   // of a block that adds to a place of sums

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

// `now` and `next` are null without a queue; with one, the next batch is the one after this.
template <class T>
__global__ void descend_cells(StepConstants<T> c, const BatchNumbers* now, std::int64_t* next, std::int64_t n_weights,
                              double scale, const T* gradient, std::int64_t n, T* parameters, T* first, T* second,
                              double* sums) {
  if (now) c.take_rate(now->rate, now->shrinkage);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  double squares = 0;
  for (std::int64_t j = own_item(); j < n; j += step) {
    const T p = parameters[j], g = gradient[j] + (j < n_weights ? c.penalty * (p * c.kept) : T{0});
    T m = first[j];
    const T start = j < n_weights ? p * c.kept : p;
    if (c.is_rmsprop) {
      T v = second[j];
      parameters[j] = start + rmsprop_step(c, g, v);
      second[j] = v;
      if (j < n_weights) squares += static_cast<double>(p) * static_cast<double>(p);
      continue;
    }
    if (c.is_adam) {
      T v = second[j];
      parameters[j] = start + adam_step(c, g, m, v);
      second[j] = v;
    } else {
      parameters[j] = start + momentum_step(c, g, m);
    }
    first[j] = m;
    if (j < n_weights) squares += static_cast<double>(p) * static_cast<double>(p);
  }
  add_to_place(squares, scale, sums);
  if (next && own_item() == 0) ++*next;
}

template <class T>
__global__ void drop_cells(const BatchNumbers* now, double rate, std::uint64_t seed, std::uint64_t stream,
                           std::int64_t rows, std::int64_t cols, std::int64_t stride, T* Z) {
  const std::int64_t i = own_row();
  if (i >= rows) return;
  if (now) stream = dropout_stream(now->step, stream);
  for (std::int64_t j = threadIdx.x; j < cols; j += blockDim.x) {
    const double share = kept_share(rate, seed, stream, static_cast<std::uint64_t>(i * cols + j));
    Z[i * stride + j] = static_cast<T>(static_cast<double>(Z[i * stride + j]) * share);
  }
}

// The next batch of the queue.
template <class T>
__global__ void take_rows(const BatchNumbers* all, const std::int64_t* next, BatchNumbers* now, MatrixView<const T> X,
                          const std::int32_t* order, bool in_pieces, std::int32_t* rows, MatrixView<T> out) {
  const std::int64_t i = own_row();
  if (i >= out.rows) return;
  const BatchNumbers own = all[*next];
  const std::int64_t row = order[own.first + i];
  if (threadIdx.x == 0) {
    rows[i] = static_cast<std::int32_t>(row);
    if (i == 0) *now = own;
  }
  map_row(raw(X) + row * X.stride, raw(out) + i * out.stride, X.cols, in_pieces, [](std::int64_t, T x) { return x; });
}

}   // namespace
}   // namespace kedge::engine
