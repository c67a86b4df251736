// Neighbour searches on the GPU: one thread walks the k-d tree for a query, one warp or block scans for it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "engine/backend/cuda/neighbours/density.cuh"
#include "engine/backend/cuda/neighbours/density_tensor.cuh"
#include "engine/backend/cuda/neighbours/density_tiles.cuh"
#include "engine/backend/cuda/neighbours/neighbour_index.cuh"
#include "engine/backend/cuda/tables/sort.cuh"
#include "engine/backend/host/kd_tree.h"
#include "engine/backend/larger_or_nan.h"
#include "engine/backend/raw.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128, kScanThreads = 256;

template <Metric M, class T>
__global__ void walk_nearest(KdView<T> tree, MatrixView<const T> queries, double power, int k, double infinity, double* distances,
                             MatrixView<std::int32_t> indices, MatrixView<T> reduced) {
  const std::int64_t i = own_item();
  if (i >= queries.rows) return;
  NearestVisitor visitor{distances + i * k, raw(indices) + i * indices.stride, k, 0, infinity};
  kd_walk<M>(tree, raw(queries) + i * queries.stride, power, visitor);
  for (int j = 0; j < k; ++j) raw(reduced)[i * reduced.stride + j] = static_cast<T>(visitor.distances[j]);
}

template <Metric M, class T>
__global__ void walk_count(KdView<T> tree, MatrixView<const T> queries, double power, double limit, std::int32_t* counts) {
  const std::int64_t i = own_item();
  if (i >= queries.rows) return;
  CountVisitor visitor{limit, tree.n, 0x7fffffff, 0};
  kd_walk<M>(tree, raw(queries) + i * queries.stride, power, visitor);
  counts[i] = static_cast<std::int32_t>(visitor.count);
}

template <Metric M, class T>
__global__ void walk_list(KdView<T> tree, MatrixView<const T> queries, double power, double limit, const std::int64_t* offsets,
                          std::int32_t* indices, T* reduced) {
  const std::int64_t i = own_item();
  if (i >= queries.rows) return;
  std::int64_t at = offsets[i];
  const auto take = [&](std::int32_t index, double distance) { indices[at] = index, reduced[at] = static_cast<T>(distance), ++at; };
  EachVisitor<decltype(take)> visitor{limit, take};
  kd_walk<M>(tree, raw(queries) + i * queries.stride, power, visitor);
}

// One block a query: distances in pieces that are sorted into the best k so far. `size` is a power of two > k.
template <Metric M, class T>
__global__ void scan_nearest(MatrixView<const T> queries, MatrixView<const T> points, double power, int k, int size, double infinity,
                             MatrixView<std::int32_t> indices, MatrixView<T> reduced) {
  KEDGE_DYNAMIC_SHARED(double, shared);
  const SharedPairs<double> best{shared, reinterpret_cast<std::int32_t*>(shared + size), size};
  const std::int64_t query = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, warp = static_cast<int>(threadIdx.x) / kLanes;
  int kept = 0;
  for (std::int64_t first = 0; first < points.rows;) {
    const int take = static_cast<int>(min(static_cast<std::int64_t>(size - kept), points.rows - first));
    for (int e = warp; e < take; e += kScanThreads / kLanes) {
      const double distance = warp_distance<M>(raw(queries) + query * queries.stride,
                                               raw(points) + (first + e) * points.stride, points.cols, power);
      if (lane == 0) best.keys[kept + e] = distance, best.indices[kept + e] = static_cast<std::int32_t>(first + e);
    }
    for (int e = kept + take + static_cast<int>(threadIdx.x); e < size; e += kScanThreads) best.keys[e] = infinity, best.indices[e] = 0x7fffffff;
    best.sort();
    kept = min(k, kept + take);
    first += take;
  }
  for (int e = static_cast<int>(threadIdx.x); e < k; e += kScanThreads) {
    raw(indices)[query * indices.stride + e] = best.indices[e];
    raw(reduced)[query * reduced.stride + e] = static_cast<T>(best.keys[e]);
  }
}

// One warp a query. Counts where `indices` is null, else lists by index.
template <Metric M, class T>
__global__ void scan_within(MatrixView<const T> queries, MatrixView<const T> points, double power, double limit, std::int32_t* counts,
                            const std::int64_t* offsets, std::int32_t* indices, T* reduced) {
  const std::int64_t i = own_row();
  if (i >= queries.rows) return;
  std::int64_t found = 0;
  for (std::int64_t p = 0; p < points.rows; ++p) {
    const double distance =
        warp_distance<M>(raw(queries) + i * queries.stride, raw(points) + p * points.stride, points.cols, power);
    if (!(distance <= limit)) continue;
    if (indices && threadIdx.x == 0) indices[offsets[i] + found] = static_cast<std::int32_t>(p), reduced[offsets[i] + found] = static_cast<T>(distance);
    ++found;
  }
  if (!indices && threadIdx.x == 0) counts[i] = static_cast<std::int32_t>(found);
}

template <class T>
class CudaNeighbourIndex final : public NeighbourIndex<T> {
 public:
  CudaNeighbourIndex(const CudaParts<T>& parts, MatrixView<const T> points, const Distance& distance)
      : gpu_(parts.runtime), ops_(parts.ops), points_(points), distance_(distance) {
    if (points.cols > kKdColumns || points.rows < kKdFewestPoints) return;
    std::vector<T> host(static_cast<std::size_t>(points.rows * points.stride));
    gpu_.to_host(host.data(), raw(points),
                 (host.size() - static_cast<std::size_t>(points.stride - points.cols)) * sizeof(T));
    const KdTree<T> built({host.data(), points.rows, points.cols, points.stride});
    order_ = Array<std::int32_t>(gpu_, built.order), blocks_ = Array<T>(gpu_, built.blocks),
    boxes_ = Array<T>(gpu_, built.boxes);
    tree_ = KdView<T>{raw(order_), raw(blocks_), raw(boxes_), built.n, built.d, built.leaves};
  }

  void nearest(MatrixView<const T> queries, int k, MatrixView<std::int32_t> indices, MatrixView<T> reduced) override {
    const std::int64_t most = std::min<std::int64_t>(points_.rows, 1024);
    if (k < 1 || k > most)
      throw schema::Error(schema::ErrorCode::kInvalidValue, "nearest: k is " + std::to_string(k) + ", must be 1 to " + std::to_string(most));
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (!tree_ && distance_.metric == Metric::kEuclidean)
      return ops_.neighbours->nearest(queries, points_, k, indices, reduced);
    with_metric(distance_.metric, [&]<Metric M>() {
      if (tree_) {
        Array<double> distances(gpu_, queries.rows * k);
        KEDGE_LAUNCH(gpu_, (walk_nearest<M, T>), blocks_for(queries.rows, kThreads), kThreads, 0, *tree_, queries, distance_.power, k, kInfinity,
                     distances.data(), indices, reduced);
        return;
      }
      int size = 2;
      while (size < k + kScanThreads) size *= 2;
      KEDGE_LAUNCH(gpu_, (scan_nearest<M, T>), static_cast<unsigned>(queries.rows), kScanThreads,
                   static_cast<std::size_t>(size) * (sizeof(double) + sizeof(std::int32_t)), queries, points_, distance_.power, k, size, kInfinity,
                   indices, reduced);
    });
  }

  void count_within(MatrixView<const T> queries, double limit, VectorView<std::int32_t> counts) override {
    with_metric(distance_.metric, [&]<Metric M>() {
      if (tree_) {
        KEDGE_LAUNCH(gpu_, (walk_count<M, T>), blocks_for(queries.rows, kThreads), kThreads, 0, *tree_, queries,
                     distance_.power, limit, raw(counts));
      } else {
        KEDGE_LAUNCH(gpu_, (scan_within<M, T>), blocks_for(queries.rows, 8), dim3(kLanes, 8), 0, queries, points_,
                     distance_.power, limit, raw(counts), nullptr, nullptr, nullptr);
      }
    });
  }

  void list_within(MatrixView<const T> queries, double limit, VectorView<const std::int64_t> offsets, VectorView<std::int32_t> indices,
                   VectorView<T> reduced) override {
    with_metric(distance_.metric, [&]<Metric M>() {
      if (tree_) {
        KEDGE_LAUNCH(gpu_, (walk_list<M, T>), blocks_for(queries.rows, kThreads), kThreads, 0, *tree_, queries,
                     distance_.power, limit, raw(offsets), raw(indices), raw(reduced));
      } else {
        KEDGE_LAUNCH(gpu_, (scan_within<M, T>), blocks_for(queries.rows, 8), dim3(kLanes, 8), 0, queries, points_,
                     distance_.power, limit, nullptr, raw(offsets), raw(indices), raw(reduced));
      }
    });
  }

  void density_components(double limit, double least, VectorView<const double> weights, VectorView<std::uint8_t> core,
                          VectorView<std::int32_t> component) override {
    const std::int64_t n = points_.rows;
    Array<std::int32_t> counts(gpu_, n), parents(gpu_, n), roots(gpu_, n);
    DensityView job{limit,        least,         weights.empty() ? nullptr : raw(weights), raw(core), raw(counts),
                    raw(parents), raw(component)};
    KEDGE_LAUNCH(gpu_, reset_density, blocks_for(n, kThreads), kThreads, 0, job, n);
    pass<Pass::kCount>(job);
    if (!tree_ && !job.weights) KEDGE_LAUNCH(gpu_, core_by_count, blocks_for(n, kThreads), kThreads, 0, job, n);
    pass<Pass::kJoin>(job);
    KEDGE_LAUNCH(gpu_, flatten, blocks_for(n, kThreads), kThreads, 0, job, n, roots.data());
    job.parents = raw(roots);
    KEDGE_LAUNCH(gpu_, name_core, blocks_for(n, kThreads), kThreads, 0, job, n);
    pass<Pass::kBorder>(job);
    gpu_.synchronize();
    masks_ = {}, mask_places_ = {}, mask_words_ = {}, masks_used_ = {};
  }

 private:
  template <Pass kPass>
  void pass(const DensityView& job) {
    with_metric(distance_.metric, [&]<Metric M>() {
      const std::int64_t n = points_.rows;
      if (tree_) {
        KEDGE_LAUNCH(gpu_, (walk_pairs<M, kPass, T>), blocks_for(n, kThreads), kThreads, 0, *tree_, points_, distance_.power, job);
      } else if (M == Metric::kEuclidean && !(job.weights && kPass == Pass::kCount)) {
        if (takes_tensor_units()) tensor_pass<kPass>(job);
        else tile_pass<kPass>(job);
      } else {
        KEDGE_LAUNCH(gpu_, (scan_pairs<M, kPass, T>), blocks_for(n, 8), dim3(kLanes, 8), 0, points_, distance_.power, job);
      }
    });
  }

  bool takes_tensor_units() const { return has_tensor_units(gpu_) && points_.cols <= SplitRows::kMostColumns; }

  template <Pass kPass>
  void tile_pass(const DensityView& job) {
    const CentredPoints<T> centred = this->centred();
    const unsigned tiles = blocks_for(points_.rows, TileShape<T>::kTile);
    if (kPass == Pass::kCount) reserve_masks(tiles, sizeof(typename MicroPlaces<T>::Word));
    KEDGE_LAUNCH(gpu_, (tile_pairs<kPass, T>), tall_grid(gpu_, tiles, tiles), TileShape<T>::kThreads,
                 TileShape<T>::kTileBytes, points_, centred, job, masks_);
  }

  template <Pass kPass>
  void tensor_pass(const DensityView& job) {
    if (split_.tiles() == 0) {
      const CentredPoints<T> centred = this->centred();
      split_ = SplitTable<T>(gpu_, centred.centred, centred.norms);
    }
    const std::int64_t tiles = split_.tiles(), slots = std::int64_t{2} * gpu_.multiprocessors();
    constexpr std::int64_t kMostInGroup = 16, kBlocksASlot = 4;
    const std::int64_t group = std::clamp(tiles * tiles / (2 * kBlocksASlot * slots), std::int64_t{1}, kMostInGroup);
    const TensorJob tensor{split_.rows(), TensorLimits::of(job.limit, TensorError::of(1, points_.cols)),
                           TensorLimits::of(job.limit, TensorError::of(2, points_.cols)), group};
    const dim3 grid = tall_grid(gpu_, static_cast<unsigned>(tiles), static_cast<unsigned>(tiles_of(tiles, group)));
    if constexpr (kPass == Pass::kCount) {
      reserve_masks(tiles, sizeof(TensorPlaces::Word));
      KEDGE_LAUNCH(gpu_, tensor_count<T>, grid, SplitRows::kThreads, kTensorTileBytes, points_, tensor, job, masks_);
    } else {
      KEDGE_LAUNCH(gpu_, (tensor_meet<kPass, T>), grid, SplitRows::kThreads, kTensorTileBytes, points_, tensor, job,
                   masks_);
    }
  }

  // Room for the hits of the first pass, in a small part of the free memory: of as many pairs of tiles as fit.
  void reserve_masks(std::int64_t tiles, std::int64_t word_bytes) {
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 32, kFreeShare = 8;
    const std::int64_t place_bytes = PairMasks::kThreads * word_bytes;
    const std::int64_t pairs = tiles * (tiles + 1) / 2, free = gpu_.free_bytes(),
                       most = free > 0 ? std::min(free / kFreeShare, kMostBytes) / place_bytes : tiles_of(pairs, 2);
    const std::int64_t capacity = std::min({pairs, most, std::int64_t{0x7fffffff}});
    if (pairs > capacity * (place_bytes / 16)) return;   // their places would take more than their bits
    mask_places_ = Array<std::int32_t>(gpu_, pairs), masks_used_ = Array<std::int32_t>(gpu_, 1);
    mask_words_ = Array<unsigned char>(gpu_, capacity * place_bytes);
    masks_used_.zero();
    masks_ = {raw(mask_places_), raw(mask_words_), raw(masks_used_), static_cast<std::int32_t>(capacity)};
  }

  CentredPoints<T> centred() {
    if (norms_.size() == 0) {
      Array<double> mean(gpu_, points_.cols), variance(gpu_, points_.cols);
      ops_.tables->column_moments(points_, {}, {}, mean.view(), variance.view());
      centred_ = Matrix<T>(gpu_, points_.rows, points_.cols), norms_ = Array<T>(gpu_, points_.rows);
      ops_.tables->gather(points_, {}, mean.view(), {}, centred_.view());
      ops_.rows->row_squared_norms(std::as_const(centred_).view(), norms_.view());
      for (const T norm : norms_.to_host()) largest_ = larger_or_nan(largest_, norm);
      largest_ = std::sqrt(largest_);
    }
    return {std::as_const(centred_).view(), raw(norms_), largest_};
  }

  CudaRuntime& gpu_;
  const Backend<T>& ops_;
  MatrixView<const T> points_;
  Distance distance_;
  Array<std::int32_t> order_;
  Array<T> blocks_, boxes_;
  std::optional<KdView<T>> tree_;
  Matrix<T> centred_;   // made on first use
  Array<T> norms_;
  T largest_ = 0;
  SplitTable<T> split_;   // made on first use
  PairMasks masks_{};     // of one call of density_components()
  Array<std::int32_t> mask_places_, masks_used_;
  Array<unsigned char> mask_words_;
};

}  // namespace

template <class T>
std::unique_ptr<NeighbourIndex<T>> make_neighbour_index(const CudaParts<T>& parts, MatrixView<const T> points,
                                                        const Distance& distance) {
  return std::make_unique<CudaNeighbourIndex<T>>(parts, points, distance);
}

template std::unique_ptr<NeighbourIndex<float>> make_neighbour_index(const CudaParts<float>&, MatrixView<const float>,
                                                                     const Distance&);
template std::unique_ptr<NeighbourIndex<double>> make_neighbour_index(const CudaParts<double>&,
                                                                      MatrixView<const double>, const Distance&);

}  // namespace kedge::engine
