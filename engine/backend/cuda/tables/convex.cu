// Elastic nets on the GPU: one block a path, which stays on its multiprocessor for all epochs of all penalties. A step that
// changes a coordinate reads one row of Q and the vector Qw: bound by the latency of two barriers where d is below a few
// thousand.
#include <vector>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128;

struct Work {   // of one path
  double *w, *Qw;
  std::int32_t* active;
  unsigned char* excluded;
};

// The same value in every thread: halves are folded in a fixed order.
template <class Fold>
__device__ double across_block(double value, double* shared, Fold fold) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int width = kThreads / 2; width > 0; width /= 2) {
    if (static_cast<int>(threadIdx.x) < width)
      shared[threadIdx.x] = fold(shared[threadIdx.x], shared[threadIdx.x + width]);
    __syncthreads();
  }
  const double result = shared[0];
  __syncthreads();
  return result;
}

struct Add {
  __device__ double operator()(double a, double b) const { return a + b; }
};
struct Larger {
  __device__ double operator()(double a, double b) const { return a > b ? a : b; }
};

__device__ double block_gap(const ElasticNetPath& p, const Work& work, double l1, double l2, bool positive, double* shared,
                            double& dual_norm) {
  ElasticNetSums own;
  own.dual_norm = positive ? -INFINITY : 0.0;
  for (std::int64_t j = threadIdx.x; j < p.q.size; j += kThreads) {
    const double w = work.w[j], q = raw(p.q)[j], dual = elastic_net_dual(q - work.Qw[j], w, l1, l2);
    own.l1_norm += fabs(w), own.squared_norm += w * w, own.qw += w * q, own.wQw += w * work.Qw[j];
    own.dual_norm = Larger()(own.dual_norm, positive ? dual : fabs(dual)), own.dual_squared += dual * dual;
  }
  ElasticNetSums all;
  all.l1_norm = across_block(own.l1_norm, shared, Add()), all.squared_norm = across_block(own.squared_norm, shared, Add());
  all.qw = across_block(own.qw, shared, Add()), all.wQw = across_block(own.wQw, shared, Add());
  all.dual_norm = dual_norm = across_block(own.dual_norm, shared, Larger());
  all.dual_squared = across_block(own.dual_squared, shared, Add());
  return elastic_net_gap(all, p.y_squared, l1, l2);
}

// Every thread knows j, from and to; all have read what they need of w and Qw before the first barrier.
__device__ void block_move(const ElasticNetPath& p, const Work& work, std::int64_t j, double from, double to) {
  __syncthreads();
  const double* const row = raw(p.Q) + j * p.Q.stride;
  for (std::int64_t k = threadIdx.x; k < p.q.size; k += kThreads) work.Qw[k] += (to - from) * row[k];
  if (threadIdx.x == 0) work.w[j] = to;
  __syncthreads();
}

// Excludes what the gap proves to be 0, and lists the rest in order. Returns how many there are.
__device__ int block_screen(const ElasticNetPath& p, const Work& work, double l1, double l2, double gap, double dual_norm,
                            int* count) {
  const std::int64_t d = p.q.size;
  for (std::int64_t j = threadIdx.x; j < d; j += kThreads) {
    if (work.excluded[j]) continue;
    const double diagonal = raw(p.Q)[j * p.Q.stride + j];
    const bool out = l1 > 0 ? elastic_net_excludes(elastic_net_dual(raw(p.q)[j] - work.Qw[j], work.w[j], l1, l2),
                                                   dual_norm, diagonal, l1, l2, gap)
                            : diagonal == 0;
    work.excluded[j] = out ? 1 : 0;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    int listed = 0;
    for (std::int64_t first = 0; first < d; first += 32) {
      const std::int64_t j = first + threadIdx.x;
      const unsigned in = __ballot_sync(kFullWarp, j < d && !work.excluded[j]);
      if (in >> threadIdx.x & 1) work.active[listed + __popc(in & ((1u << threadIdx.x) - 1))] = static_cast<std::int32_t>(j);
      listed += __popc(in);
    }
    if (threadIdx.x == 0) *count = listed;
  }
  __syncthreads();
  for (std::int64_t j = 0; j < d; ++j) {
    const double w = work.w[j];
    if (work.excluded[j] && w != 0) block_move(p, work, j, w, 0.0);
  }
  __syncthreads();
  return *count;
}

// One epoch; true if no coordinate moved by more than tol of the largest.
__device__ bool block_epoch(const ElasticNetPath& p, const ElasticNetOptions& o, const Work& work, int n_active, double l1,
                            double l2, PhiloxStream& random) {
  double largest = 0, step = 0;
  for (int i = 0; i < n_active; ++i) {
    const std::int64_t j =
        work.active[o.random ? random.below(static_cast<std::uint32_t>(n_active)) : static_cast<std::uint32_t>(i)];
    const double w = work.w[j];
    const double to =
        elastic_net_coordinate(raw(p.q)[j] - work.Qw[j], w, raw(p.Q)[j * p.Q.stride + j], l1, l2, o.positive);
    if (to != w) block_move(p, work, j, w, to);
    largest = Larger()(largest, fabs(to)), step = Larger()(step, fabs(to - w));
  }
  return largest == 0 || step <= o.tol * largest;
}

__device__ void block_solve(const ElasticNetPath& p, const ElasticNetOptions& o, const Work& work, std::int64_t a,
                            PhiloxStream& random, double* shared, int* count) {
  const double l1 = raw(p.l1)[a], l2 = raw(p.l2)[a], tol = o.tol * p.y_squared;
  double dual_norm = 0, gap = block_gap(p, work, l1, l2, o.positive, shared, dual_norm);
  std::int32_t n_iter = 0;
  if (!(gap >= 0 && gap <= tol)) {
    for (std::int64_t j = threadIdx.x; j < p.q.size; j += kThreads) work.excluded[j] = 0;
    __syncthreads();
    int n_active = block_screen(p, work, l1, l2, gap, dual_norm, count);
    while (n_iter < o.max_iter) {
      const bool settled = block_epoch(p, o, work, n_active, l1, l2, random);
      ++n_iter;
      if (!settled && n_iter < o.max_iter) continue;
      gap = block_gap(p, work, l1, l2, o.positive, shared, dual_norm);
      if (gap <= tol) break;
      n_active = block_screen(p, work, l1, l2, gap, dual_norm, count);
    }
  }
  if (threadIdx.x == 0) raw(p.gap)[a] = gap, raw(p.n_iter)[a] = n_iter;
  for (std::int64_t j = threadIdx.x; j < p.q.size; j += kThreads) raw(p.coef)[a * p.q.size + j] = work.w[j];
  __syncthreads();
}

__global__ void solve_paths(const ElasticNetPath* paths, const Work* works, ElasticNetOptions options) {
  __shared__ double shared[kThreads];
  __shared__ int count;
  const ElasticNetPath p = paths[blockIdx.x];
  const Work work = works[blockIdx.x];
  PhiloxStream random(options.seed, blockIdx.x);
  for (std::int64_t k = threadIdx.x; k < p.q.size; k += kThreads) {
    double sum = 0;   // Q is symmetric: down a column, neighbouring threads read neighbouring cells
    for (std::int64_t j = 0; j < p.q.size; ++j) {
      const double w = raw(p.coef)[j];
      if (w != 0) sum += w * raw(p.Q)[j * p.Q.stride + k];
    }
    work.Qw[k] = sum;
    work.w[k] = raw(p.coef)[k];
  }
  __syncthreads();
  for (std::int64_t a = 0; a < p.l1.size; ++a) block_solve(p, options, work, a, random, shared, &count);
}

template <class T>
class CudaConvex final : public ConvexOps<T>, private CudaBody {
 public:
  using CudaBody::CudaBody;

  void elastic_net_paths(std::span<const ElasticNetPath> paths, const ElasticNetOptions& options) override {
    std::int64_t entries = 0;
    for (const ElasticNetPath& path : paths) entries += path.q.size;
    Array<double> vectors(runtime_, 2 * entries);
    Array<std::int32_t> active(runtime_, entries);
    Array<unsigned char> excluded(runtime_, entries);
    std::vector<Work> works;
    std::int64_t first = 0;
    for (const ElasticNetPath& path : paths) {
      works.push_back(
          {raw(vectors) + first, raw(vectors) + entries + first, raw(active) + first, raw(excluded) + first});
      first += path.q.size;
    }
    const Array<ElasticNetPath> device_paths(runtime_, paths);
    const Array<Work> device_works(runtime_, std::span<const Work>(works));
    KEDGE_LAUNCH(runtime_, solve_paths, static_cast<unsigned>(paths.size()), kThreads, 0, device_paths.data(),
                 device_works.data(), options);
  }
};

}   // namespace

template <class T>
std::unique_ptr<ConvexOps<T>> make_cuda_convex(const CudaParts<T>& parts) {
  return std::make_unique<CudaConvex<T>>(parts);
}
template std::unique_ptr<ConvexOps<float>> make_cuda_convex<float>(const CudaParts<float>&);
template std::unique_ptr<ConvexOps<double>> make_cuda_convex<double>(const CudaParts<double>&);

}   // namespace kedge::engine
