// Nearest neighbours on the GPU: centre, shortlist by score (shortlist.cuh), rank the shortlists exactly in double.
#include <algorithm>
#include <limits>
#include <string>

#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/neighbours/shortlist.cuh"
#include "engine/backend/cuda/neighbours/shortlist_tensor.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/raw.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr std::int64_t kQueryBatch = 32768;   // bounds the memory of the shortlists
constexpr int kRankThreads = 256;

// The bits of a value >= 0 (or NaN, which is then the largest) order as the value does.
__device__ inline void atomic_largest(unsigned* bits, float value) { atomicMax(bits, __float_as_uint(value)); }
__device__ inline void atomic_largest(unsigned long long* bits, double value) {
  atomicMax(bits, static_cast<unsigned long long>(__double_as_longlong(value)));
}
__device__ inline float value_of(unsigned bits) { return __uint_as_float(bits); }
__device__ inline double value_of(unsigned long long bits) { return __longlong_as_double(static_cast<long long>(bits)); }
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;

template <class T>
__global__ void centre_of(const double* sums, std::int64_t d, std::int64_t n, T* centre) {
  const std::int64_t j = own_item();
  if (j < d) centre[j] = static_cast<T>(sums[j] / static_cast<double>(n));
}

// One warp a row: out = row - centre, its squared norm, and the largest of those.
template <class T>
__global__ void centre_rows(MatrixView<const T> X, const T* centre, T* out, T* norms, Bits<T>* largest) {
  const std::int64_t i = own_row(), d = X.cols;
  if (i >= X.rows) return;
  double sum = 0;
  for (std::int64_t j = threadIdx.x; j < d; j += kLanes) {
    const T value = raw(X)[i * X.stride + j] - centre[j];
    out[i * d + j] = value;
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  sum = fold_lanes(sum);
  if (threadIdx.x != 0) return;
  norms[i] = static_cast<T>(sum);
  if (largest) atomic_largest(largest, norms[i]);
}

template <class T>
__global__ void errors_of(const T* query_norms, std::int64_t m, const Bits<T>* largest, std::int64_t d, T* errors) {
  const std::int64_t i = own_item();
  if (i < m) errors[i] = score_error<T>(sqrt(query_norms[i]), sqrt(value_of(*largest)), d);
}

template <class T>
struct RankJob {
  MatrixView<const T> queries, points;   // as given, not centred
  const std::int32_t* lists;
  const int* counts;
  std::int64_t ranges;
  int capacity, k, size;                 // size of the sorted buffer, a power of two > k
  MatrixView<std::int32_t> indices;
  MatrixView<T> squared;
};

// One block a query: the exact distances of its candidates, in pieces that are sorted into the best k so far. Without a
// usable shortlist every point is a candidate.
template <class T>
__global__ void rank_candidates(RankJob<T> job, double infinity) {
  KEDGE_DYNAMIC_SHARED(double, shared);
  const SharedPairs<double> best{shared, reinterpret_cast<std::int32_t*>(shared + job.size), job.size};
  const std::int64_t query = blockIdx.x, d = job.points.cols;
  const int *const counts = job.counts + query * job.ranges;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, warp = static_cast<int>(threadIdx.x) / kLanes;
  std::int64_t listed = 0;
  bool given_up = false;
  for (std::int64_t r = 0; r < job.ranges; ++r) {
    given_up = given_up || counts[r] < 0;
    listed += counts[r];
  }
  const bool all = given_up || listed < job.k;
  int kept = 0;
  for (std::int64_t r = 0; r < (all ? 1 : job.ranges); ++r) {
    const std::int64_t candidates = all ? job.points.rows : counts[r];
    const std::int32_t* const list = job.lists + (query * job.ranges + r) * job.capacity;
    for (std::int64_t c = 0; c < candidates;) {
      const int take = static_cast<int>(min(static_cast<std::int64_t>(job.size - kept), candidates - c));
      for (int e = warp; e < take; e += kRankThreads / kLanes) {
        const std::int64_t p = all ? c + e : list[c + e];
        double sum = 0;
        for (std::int64_t j = lane; j < d; j += kLanes)
          sum += squared_difference(raw(job.queries)[query * job.queries.stride + j],
                                    raw(job.points)[p * job.points.stride + j]);
        sum = fold_lanes(sum);
        if (lane == 0) best.keys[kept + e] = sum, best.indices[kept + e] = static_cast<std::int32_t>(p);
      }
      for (int e = kept + take + static_cast<int>(threadIdx.x); e < job.size; e += kRankThreads)
        best.keys[e] = infinity, best.indices[e] = 0x7fffffff;
      best.sort();
      kept = min(job.k, kept + take);
      c += take;
    }
  }
  for (int e = static_cast<int>(threadIdx.x); e < job.k; e += kRankThreads) {
    raw(job.indices)[query * job.indices.stride + e] = best.indices[e];
    raw(job.squared)[query * job.squared.stride + e] = static_cast<T>(best.keys[e]);
  }
}

template <class T>
__global__ void votes(MatrixView<const std::int32_t> indices, MatrixView<const T> squared, const std::int32_t* y, bool by_distance,
                      MatrixView<T> proba) {
  const std::int64_t i = own_item();
  if (i < indices.rows)
    vote_row(raw(indices) + i * indices.stride, raw(squared) + i * squared.stride, indices.cols, y, by_distance,
             raw(proba) + i * proba.stride, proba.cols);
}

int power_of_two(std::int64_t least) {
  int size = 1;
  while (size < least) size *= 2;
  return size;
}

template <class T>
struct Centred {
  Array<T> values, norms;
};

template <class T>
Centred<T> centred(CudaRuntime& gpu, MatrixView<const T> X, const Array<T>& centre, Bits<T>* largest) {
  Centred<T> c{Array<T>(gpu, X.size()), Array<T>(gpu, X.rows)};
  KEDGE_LAUNCH(gpu, centre_rows<T>, blocks_for(X.rows, 8), dim3(kLanes, 8), 0, X, centre.data(), c.values.data(), c.norms.data(), largest);
  return c;
}

// Points are cut into ranges, each with a block for every tile of queries, so that few multiprocessors idle at the end;
// into no more than that takes, for each range has lists of its own, which are ranked one after the other.
std::int64_t ranges_of(std::int64_t query_tiles, std::int64_t points, int multiprocessors) {
  constexpr std::int64_t kFew = 4;
  constexpr double kNearlyBest = 1.1;
  const std::int64_t slots = std::int64_t{2} * multiprocessors,
                     most = std::min(tiles_of(points, 4096), std::max(kFew, tiles_of(slots, query_tiles)));
  const auto time = [&](std::int64_t ranges) {   // in that of all points
    return static_cast<double>(tiles_of(query_tiles * ranges, slots)) / static_cast<double>(ranges);
  };
  double least = time(1);
  for (std::int64_t ranges = 2; ranges <= most; ++ranges) least = std::min(least, time(ranges));
  std::int64_t ranges = 1;
  while (ranges < most && time(ranges) > kNearlyBest * least) ++ranges;
  return ranges;
}

// The lists of a batch's queries: of each range of points all that may be among the nearest.
struct Shortlists {
  std::int64_t ranges = 0;
  int capacity = 0;
  Array<std::int32_t> lists;
  Array<int> counts;
};

// The points as the batches search them.
template <class T>
struct Searched {
  Array<T> centre;
  Array<Bits<T>> largest;   // of the norms
  Centred<T> centred;
  SplitTable<T> split;   // where there are tensor units
};

template <class T>
Shortlists shortlist(CudaRuntime& gpu, const Centred<T>& q, const Searched<T>& points, std::int64_t n, std::int64_t d,
                     int k) {
  using Shape = TileShape<T>;
  const std::int64_t m = q.norms.size(), query_tiles = tiles_of(m, Shape::kTile);
  const std::int64_t range = tiles_of(n, ranges_of(query_tiles, n, gpu.multiprocessors())), ranges = tiles_of(n, range);
  const int capacity = power_of_two(2 * std::int64_t{k} + 2 * Shape::kTile);
  Array<T> errors(gpu, m), scores(gpu, m * ranges * capacity);
  Shortlists made{ranges, capacity, Array<std::int32_t>(gpu, m * ranges * capacity), Array<int>(gpu, m * ranges)};
  KEDGE_LAUNCH(gpu, errors_of<T>, blocks_for(m, 128), 128, 0, q.norms.data(), m, raw(points.largest), d, errors.data());
  const ShortlistJob<T> job{raw(q.values),
                            raw(points.centred.values),
                            raw(errors),
                            raw(points.centred.norms),
                            m,
                            n,
                            d,
                            range,
                            k,
                            capacity,
                            raw(scores),
                            raw(made.lists),
                            raw(made.counts)};
  KEDGE_LAUNCH(gpu, shortlist_points<T>, dim3(static_cast<unsigned>(query_tiles), static_cast<unsigned>(ranges)),
               Shape::kThreads,
               std::max(Shape::kTileBytes, static_cast<std::size_t>(capacity) * (sizeof(T) + sizeof(std::int32_t))),
               job, std::numeric_limits<T>::infinity());
  return made;
}

template <class T>
Shortlists tensor_shortlist(CudaRuntime& gpu, const Centred<T>& q, const Searched<T>& points, std::int64_t n,
                            std::int64_t d, int k) {
  constexpr std::int64_t kTile = SplitRows::kTile;
  const std::int64_t m = q.norms.size(), query_tiles = tiles_of(m, kTile);
  const std::int64_t range = tiles_of(tiles_of(n, ranges_of(query_tiles, n, gpu.multiprocessors())), kTile) * kTile,
                     ranges = tiles_of(n, range);
  const int capacity = power_of_two(2 * std::int64_t{k} + 2 * kTile);
  const SplitTable<T> queries(gpu, {q.values.data(), m, d}, raw(q.norms));
  Array<float> scores(gpu, m * ranges * capacity);
  Shortlists made{ranges, capacity, Array<std::int32_t>(gpu, m * ranges * capacity), Array<int>(gpu, m * ranges)};
  const TensorShortlist job{
      queries.rows(), points.split.rows(), TensorError::of(1, d), TensorError::of(2, d), m, n, range, k,
      capacity,       raw(scores),         raw(made.lists),       raw(made.counts)};
  KEDGE_LAUNCH(gpu, shortlist_tensor, dim3(static_cast<unsigned>(query_tiles), static_cast<unsigned>(ranges)),
               SplitRows::kThreads, kTensorTileBytes, job);
  return made;
}

template <class T>
void search_batch(CudaRuntime& gpu, MatrixView<const T> queries, MatrixView<const T> points, int k,
                  const Searched<T>& searched, MatrixView<std::int32_t> indices, MatrixView<T> squared) {
  const std::int64_t n = points.rows, d = points.cols;
  const Centred<T> q = centred<T>(gpu, queries, searched.centre, nullptr);
  const Shortlists lists =
      searched.split.tiles() > 0 ? tensor_shortlist(gpu, q, searched, n, d, k) : shortlist(gpu, q, searched, n, d, k);
  const int size = power_of_two(std::int64_t{k} + 256);
  const RankJob<T> rank{queries, points,  raw(lists.lists), raw(lists.counts), lists.ranges, lists.capacity, k,
                        size,    indices, squared};
  KEDGE_LAUNCH(gpu, rank_candidates<T>, static_cast<unsigned>(queries.rows), kRankThreads,
               static_cast<std::size_t>(size) * (sizeof(double) + sizeof(std::int32_t)), rank,
               std::numeric_limits<double>::infinity());
}

template <class T>
class CudaNeighbours final : public NeighbourOps<T>, private CudaBody {
 public:
  explicit CudaNeighbours(const CudaParts<T>& parts) : CudaBody(parts), ops_(parts.ops) {}

  void nearest(MatrixView<const T> queries, MatrixView<const T> points, int k, MatrixView<std::int32_t> indices,
               MatrixView<T> squared) override {
    const std::int64_t most = std::min<std::int64_t>(points.rows, 1024), d = points.cols;
    if (k < 1 || k > most)
      throw schema::Error(schema::ErrorCode::kInvalidValue,
                          "nearest: k is " + std::to_string(k) + ", must be 1 to " + std::to_string(most));
    CudaRuntime& gpu = runtime_;
    Array<double> sums(gpu, d);
    Searched<T> searched{Array<T>(gpu, d), Array<Bits<T>>(gpu, 1), {}, {}};
    searched.largest.zero();
    ops_.rows->column_sums(points, sums.view());
    KEDGE_LAUNCH(gpu, centre_of<T>, blocks_for(d, 128), 128, 0, sums.data(), d, points.rows, searched.centre.data());
    searched.centred = centred<T>(gpu, points, searched.centre, raw(searched.largest));
    if (has_tensor_units(gpu) && d <= SplitRows::kMostColumns)
      searched.split = SplitTable<T>(gpu, {raw(searched.centred.values), points.rows, d}, raw(searched.centred.norms));
    for (std::int64_t first = 0; first < queries.rows; first += kQueryBatch) {
      const std::int64_t rows = std::min(kQueryBatch, queries.rows - first);
      search_batch(gpu, queries.row_range(first, rows), points, k, searched, indices.row_range(first, rows),
                   squared.row_range(first, rows));
    }
  }

  bool nearest_of_others(MatrixView<const T>, std::span<const std::int32_t>, int, const std::function<void()>&,
                         MatrixView<std::int32_t>, MatrixView<T>) override {
    return false;
  }

  void vote(MatrixView<const std::int32_t> indices, MatrixView<const T> squared, VectorView<const std::int32_t> y,
            bool by_distance, MatrixView<T> proba) override {
    KEDGE_LAUNCH(runtime_, votes<T>, blocks_for(indices.rows, 128), 128, 0, indices, squared, raw(y), by_distance,
                 proba);
  }

 private:
  const Backend<T>& ops_;
};

}   // namespace

template <class T>
std::unique_ptr<NeighbourOps<T>> make_cuda_neighbours(const CudaParts<T>& parts) {
  return std::make_unique<CudaNeighbours<T>>(parts);
}
template std::unique_ptr<NeighbourOps<float>> make_cuda_neighbours<float>(const CudaParts<float>&);
template std::unique_ptr<NeighbourOps<double>> make_cuda_neighbours<double>(const CudaParts<double>&);

}  // namespace kedge::engine
