// The ops of k-means on the GPU. Assignment to few centres reads X once (few_centers.cuh); to many, 2 n k d flops on
// tiles that are never stored, then one pass over X that proves each label or searches it exactly. Sums by label read X
// once, bound by memory.
#include <algorithm>
#include <bit>
#include <limits>

#include "engine/backend/cuda/clusters/few_centers.cuh"
#include "engine/backend/cuda/clusters/seeding.cuh"
#include "engine/backend/cuda/cuda_ops.h"
#include "engine/backend/cuda/neighbours/row_distance.cuh"
#include "engine/backend/cuda/neighbours/tile_product.cuh"
#include "engine/backend/cuda/sums.cuh"
#include "engine/backend/larger_or_nan.h"
#include "engine/backend/raw.h"

namespace kedge::engine {
namespace {

constexpr int kSumThreads = 256, kMostTiles = 16;   // of a block that sums by label
constexpr int kAtOnce = 4;      // rows that it reads before it adds them

// A block takes a tile of rows past all centers; gaps[i] is how far the second best score of row i lies behind the best.
template <class T>
__global__ void __launch_bounds__(256, 2) best_centers(MatrixView<const T> X, MatrixView<const T> centers,
                                                       const T* norms, T infinity, std::int32_t* best, T* gaps) {
  using Shape = TileShape<T>;
  constexpr int kMicro = Shape::kMicro;
  KEDGE_DYNAMIC_SHARED(T, shared);
  const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * Shape::kTile;
  BestTwo<T> own[kMicro];
  KEDGE_UNROLL
  for (int i = 0; i < kMicro; ++i) own[i] = {infinity, infinity, 0x7fffffff};
  T dots[kMicro][kMicro];
  for (std::int64_t center = 0; center < centers.rows; center += Shape::kTile) {
    multiply_tiles<T, false>(X, centers, row, center, centers.rows, shared, dots);
    KEDGE_UNROLL
    for (int j = 0; j < kMicro; ++j) {
      const std::int64_t c = center + tile_place(x, j);
      if (c >= centers.rows) continue;
      KEDGE_UNROLL
      for (int i = 0; i < kMicro; ++i) own[i].take(norms[c] - 2 * dots[i][j], static_cast<std::int32_t>(c));
    }
  }
  KEDGE_UNROLL
  for (int i = 0; i < kMicro; ++i) {
    for (int width = 8; width > 0; width /= 2) {
      const T score = __shfl_down_sync(kFullWarp, own[i].best, width, 16), second = __shfl_down_sync(kFullWarp, own[i].second, width, 16);
      const std::int32_t center = __shfl_down_sync(kFullWarp, own[i].center, width, 16);
      if (x + width < 16) {
        own[i].take(score, center);
        if (second < own[i].second) own[i].second = second;
      }
    }
    const std::int64_t r = row + tile_place(y, i);
    if (x == 0 && r < X.rows) best[r] = own[i].center, gaps[r] = own[i].second - own[i].best;
  }
}

// One warp a row: the best center where the gap is larger than what rounding explains, else the nearest by definition.
template <class T>
__global__ void settle(MatrixView<const T> X, MatrixView<const T> centers, const T* norms, const std::int32_t* best, const T* gaps,
                       double infinity, std::int32_t* labels, unsigned long long* changed) {
  const std::int64_t i = own_row(), d = X.cols;
  if (i >= X.rows) return;
  double sum = 0;
  for (std::int64_t j = threadIdx.x; j < d; j += kLanes) {
    const double value = static_cast<double>(raw(X)[i * X.stride + j]);
    sum += value * value;
  }
  sum = __shfl_sync(kFullWarp, fold_lanes(sum), 0);
  T largest = 0;
  for (std::int64_t c = threadIdx.x; c < centers.rows; c += kLanes) largest = larger_or_nan(largest, norms[c]);
  // The same in every lane, NaN too: the lanes must go on together.
  for (int width = kLanes / 2; width > 0; width /= 2)
    largest = larger_or_nan(largest, __shfl_xor_sync(kFullWarp, largest, width));
  std::int32_t label = best[i];
  if (!(gaps[i] > 2 * score_error<T>(static_cast<T>(sqrt(sum)), sqrt(largest), d))) {
    double least = infinity;
    label = 0;
    for (std::int64_t c = 0; c < centers.rows; ++c) {
      const double squared =
          warp_distance<Metric::kEuclidean>(raw(X) + i * X.stride, raw(centers) + c * centers.stride, d, 2.0);
      if (squared < least) least = squared, label = static_cast<std::int32_t>(c);
    }
  }
  if (threadIdx.x != 0 || labels[i] == label) return;
  labels[i] = label;
  atomicAdd(changed, 1ull);
}

// One thread a row of at most kShortRow columns.
template <class T>
__global__ void short_squares(MatrixView<const T> X, MatrixView<const T> centers, const std::int32_t* labels,
                              double* squared) {
  const std::int64_t i = own_item();
  if (i < X.rows)
    squared[i] = serial_distance(raw(X) + i * X.stride, raw(centers) + labels[i] * centers.stride, X.cols);
}

template <class T>
__global__ void assigned_squares(MatrixView<const T> X, MatrixView<const T> centers, const std::int32_t* labels, double* squared) {
  const std::int64_t i = own_row();
  if (i >= X.rows) return;
  const double distance =
      warp_distance<Metric::kEuclidean>(raw(X) + i * X.stride, raw(centers) + labels[i] * centers.stride, X.cols, 2.0);
  if (threadIdx.x == 0) squared[i] = distance;
}

// A row of labelled samples, as one thread adds it: its column, beyond the last the weight.
template <class T>
struct Labelled {
  MatrixView<const T> X;
  const std::int32_t* labels;
  const double* weights;
  __device__ double at(std::int64_t i, std::int64_t j) const {
    const double weight = weights ? weights[i] : 1.0;
    return j < X.cols ? weight * static_cast<double>(raw(X)[i * X.stride + j]) : weight;
  }
};

// A thread sums one column over one tile of rows, by label, in its own column of `table`: in shared memory where the
// labels fit, else in the tile's sums themselves. Threads along x take columns, along y tiles.
template <class T>
__global__ void tile_labels(Labelled<T> from, std::int64_t centers, std::int64_t tile_rows, std::int64_t tiles,
                            bool in_shared, double* sums) {
  KEDGE_DYNAMIC_SHARED(double, shared);
  const std::int64_t j = block_y() * blockDim.x + threadIdx.x, tile = own_row(), cols = from.X.cols + 1;
  if (j >= cols || tile >= tiles) return;
  double* const own = sums + tile * centers * cols + j;
  double* const table = in_shared ? shared + threadIdx.y * centers * blockDim.x + threadIdx.x : own;
  const std::int64_t step = in_shared ? blockDim.x : cols;
  for (std::int64_t c = 0; c < centers; ++c) table[c * step] = 0;
  const std::int64_t end = (tile + 1) * tile_rows < from.X.rows ? (tile + 1) * tile_rows : from.X.rows;
  std::int64_t i = tile * tile_rows;
  for (; i + kAtOnce <= end; i += kAtOnce) {
    double values[kAtOnce];
    std::int64_t places[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) places[k] = from.labels[i + k] * step, values[k] = from.at(i + k, j);
    for (int k = 0; k < kAtOnce; ++k) table[places[k]] += values[k];
  }
  for (; i < end; ++i) table[from.labels[i] * step] += from.at(i, j);
  for (std::int64_t c = 0; in_shared && c < centers; ++c) own[c * cols] = table[c * step];
}

__global__ void put_rows(const double* from, MatrixView<double> to) {
  const std::int64_t i = own_row();
  if (i >= to.rows) return;
  for (std::int64_t j = threadIdx.x; j < to.cols; j += blockDim.x) raw(to)[i * to.stride + j] = from[i * to.cols + j];
}

__global__ void unlabel(VectorView<std::int32_t> labels) {
  const std::int64_t i = own_item();
  if (i < labels.size) raw(labels)[i] = -1;
}

template <class T>
class CudaClusters final : public ClusterOps<T>, private CudaBody {
 public:
  explicit CudaClusters(const CudaParts<T>& parts) : CudaBody(parts), ops_(parts.ops) {}

  std::int64_t assign_nearest(MatrixView<const T> X, MatrixView<const T> centers,
                              VectorView<std::int32_t> labels) override {
    CudaRuntime& gpu = runtime_;
    Array<T> norms(gpu, centers.rows);
    Array<unsigned long long> changed(gpu, 1);
    changed.zero();
    ops_.rows->row_squared_norms(centers, norms.view());
    if (!assign_to_few(X, centers, norms, labels, changed)) assign_to_many(X, centers, norms, labels, changed);
    return static_cast<std::int64_t>(changed.to_host()[0]);
  }

  void squared_to_assigned(MatrixView<const T> X, MatrixView<const T> centers, VectorView<const std::int32_t> labels,
                           VectorView<double> squared) override {
    if (X.cols <= kShortRow) {
      KEDGE_LAUNCH(runtime_, short_squares<T>, blocks_for(X.rows, kFewThreads), kFewThreads, 0, X, centers, raw(labels),
                   raw(squared));
      return;
    }
    KEDGE_LAUNCH(runtime_, assigned_squares<T>, blocks_for(X.rows, 8), dim3(kLanes, 8), 0, X, centers, raw(labels),
                 raw(squared));
  }

  void label_sums(MatrixView<const T> X, VectorView<const std::int32_t> labels, VectorView<const double> weights,
                  MatrixView<double> sums) override {
    sum_labels({}, X, labels, weights, class_tile_rows(X.rows, sums.size()), {0, X.rows}, sums);
  }

  // The same, of the ranks' own rows in tiles of so many.
  void sum_labels(const RankSeat& seat, MatrixView<const T> table, VectorView<const std::int32_t> all_labels,
                  VectorView<const double> all_weights, std::int64_t tile_rows, const Part& own,
                  MatrixView<double> sums) {
    CudaRuntime& gpu = runtime_;
    const MatrixView<const T> X = table.row_range(own.begin, own.size());
    const double* const weights = all_weights.empty() ? nullptr : raw(all_weights) + own.begin;
    const std::int64_t k = sums.rows, cols = X.cols + 1, tiles = tiles_of(X.rows, tile_rows);
    const auto across = static_cast<unsigned>(std::min<std::int64_t>(cols, kLanes)),
               most = std::min<unsigned>(kSumThreads / across, kMostTiles);
    unsigned high = most;
    const auto table_bytes = [&] { return static_cast<std::size_t>(high * across * k) * sizeof(double); };
    while (high > 1 && table_bytes() > kPlainSharedBytes) high /= 2;
    const bool in_shared = table_bytes() <= kPlainSharedBytes;
    if (!in_shared) high = most;
    Array<double> partial, total(gpu, k * cols);
    const auto sum_own = [&] {
      partial = Array<double>(gpu, tiles * k * cols);
      KEDGE_LAUNCH(gpu, tile_labels<T>, tall_grid(gpu, blocks_for(tiles, high), blocks_for(cols, across)),
                   dim3(across, high), in_shared ? table_bytes() : 0,
                   Labelled<T>{X, raw(all_labels) + own.begin, weights}, k, tile_rows, tiles, in_shared,
                   partial.data());
      return DeviceTables{raw(partial), tiles};
    };
    sums_.add(seat, k * cols, sum_own, raw(total));
    KEDGE_LAUNCH(gpu, put_rows, row_blocks(k, cols), row_block(cols), 0, total.data(), sums);
  }

  void nearest_within(MatrixView<const T> X, VectorView<const std::int32_t> candidates, VectorView<const T> closest,
                      VectorView<const double> weights, MatrixView<T> least, VectorView<double> totals) override {
    const RankSeat seat = sums_.seat(X.rows);
    const Part own = own_rows(seat, X.rows);   // of `least` as well, which cumulative_search() and the next call read
    const std::int64_t tiles = tiles_of(own.size(), kRowTile), k = candidates.size;
    const Nearest<T> before{closest.empty() ? nullptr : raw(closest) + own.begin,
                            weights.empty() ? nullptr : raw(weights) + own.begin};
    const MatrixView<const T> rows = X.row_range(own.begin, own.size());
    const MatrixView<T> mine(raw(least) + own.begin, least.rows, own.size(), least.stride);
    Array<double> sums;
    const auto sum_own = [&] {
      sums = Array<double>(runtime_, tiles * k);
      if (X.cols <= kShortRow) nearest_of_short(rows, X, candidates, before, mine, raw(sums));
      else nearest_of_long(rows, X, candidates, before, mine, raw(sums));
      return DeviceTables{raw(sums), tiles};
    };
    sums_.add(seat, k, sum_own, raw(totals));
  }

  void cumulative_search(VectorView<const T> values, VectorView<const double> weights,
                         VectorView<const double> thresholds, VectorView<std::int32_t> found) override {
    CudaRuntime& gpu = runtime_;
    const Shares<T> share{raw(values), weights.empty() ? nullptr : raw(weights)};
    const std::int64_t n = values.size, n_tiles = tiles_of(n, kRowTile), n_groups = tiles_of(n_tiles, kRowTile);
    const RankSeat seat = sums_.seat(n);
    const Part own = own_rows(seat, n), of_tiles{tiles_of(own.begin, kRowTile), tiles_of(own.end, kRowTile)};
    const Shares<T> own_share{share.values + own.begin, share.weights ? share.weights + own.begin : nullptr};
    Array<double> tiles(gpu, n_tiles), groups(gpu, n_groups);
    KEDGE_LAUNCH(gpu, tile_shares<T>, blocks_for(own.size(), kRowTile), kRowTile, 0, own_share, own.size(),
                 raw(tiles) + of_tiles.begin, std::int64_t{1});
    sums_.give(seat, of_tiles, raw(tiles));
    KEDGE_LAUNCH(gpu, tile_shares<double>, blocks_for(n_tiles, kRowTile), kRowTile, 0,
                 Shares<double>{raw(tiles), nullptr}, n_tiles, raw(groups), std::int64_t{1});
    KEDGE_LAUNCH(gpu, search_shares<T>, static_cast<unsigned>(thresholds.size), kRowTile, 0, share, n, own,
                 tiles.data(), groups.data(), raw(thresholds), raw(found));
    sums_.give_largest(seat, found);
  }

  std::unique_ptr<MovingCenters<T>> follow_centers(MatrixView<const T> X, VectorView<const double> weights,
                                                   VectorView<std::int32_t> labels) override {
    KEDGE_LAUNCH(runtime_, unlabel, blocks_for(labels.size, 256), 256, 0, labels);
    return std::make_unique<Followed>(*this, X, weights, labels);
  }

 private:
  // Every row anew: tiles that are multiplied whole need no gathering, and rows that stay would leave warps idle. Where
  // ranks divide the rows, each has the labels of its own. Only where centres are so many that tables of sums have more
  // rows than blocks do, all have all labels.
  class Followed final : public MovingCenters<T> {
   public:
    Followed(CudaClusters& ops, MatrixView<const T> X, VectorView<const double> weights,
             VectorView<std::int32_t> labels)
        : ops_(ops), X_(X), weights_(weights), labels_(labels) {}

    std::int64_t assign(MatrixView<const T> centers) override {
      const RankSeat seat = ops_.sums_.seat(X_.rows);
      const std::int64_t tile_rows = rows_of_table(centers.rows);
      const Part own = rows_of(seat, tile_rows);
      const std::int64_t changed = ops_.sums_.add_number(seat, [&] {
        return ops_.assign_nearest(X_.row_range(own.begin, own.size()), centers, labels_.slice(own.begin, own.size()));
      });
      if (!labels_stay(tile_rows)) ops_.sums_.give(seat, own, raw(labels_));
      return changed;
    }
    void sum(MatrixView<double> sums) override {
      const RankSeat seat = ops_.sums_.seat(X_.rows);
      const std::int64_t tile_rows = rows_of_table(sums.rows);
      ops_.sum_labels(seat, X_, labels_, weights_, tile_rows, rows_of(seat, tile_rows), sums);
    }

   private:
    // Of sums by label: where it can be, a power of two, of which the blocks that ranks own are multiples.
    std::int64_t rows_of_table(std::int64_t centers) const {
      const std::int64_t least = class_tile_rows(X_.rows, centers * (X_.cols + 1));
      const auto wide = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
      return X_.rows >= kLeastDealtRows && wide <= block_rows(X_.rows) ? wide : least;
    }
    bool labels_stay(std::int64_t tile_rows) const { return block_rows(X_.rows) % tile_rows == 0; }
    Part rows_of(const RankSeat& seat, std::int64_t tile_rows) const {
      if (labels_stay(tile_rows)) return own_rows(seat, X_.rows);
      return rows_of_tiles(own_tiles(seat, tiles_of(X_.rows, tile_rows)), tile_rows, X_.rows);
    }

    CudaClusters& ops_;
    MatrixView<const T> X_;
    VectorView<const double> weights_;
    VectorView<std::int32_t> labels_;
  };

  // sums: tiles x candidates.
  void nearest_of_short(MatrixView<const T> X, MatrixView<const T> table, VectorView<const std::int32_t> candidates,
                        const Nearest<T>& before, MatrixView<T> least, double* sums) {
    const std::int64_t tiles = tiles_of(X.rows, kRowTile), k = candidates.size;
    for (std::int64_t c = 0; c < k; c += kFewCandidates) {
      const std::int64_t some = std::min<std::int64_t>(kFewCandidates, k - c);
      KEDGE_LAUNCH(runtime_, closer_short<T>, static_cast<unsigned>(tiles), kRowTile, 0, X, table,
                   candidates.slice(c, some), before, lies_in_pieces(X), least.row_range(c, some), sums + c, k);
    }
  }
  void nearest_of_long(MatrixView<const T> X, MatrixView<const T> table, VectorView<const std::int32_t> candidates,
                       const Nearest<T>& before, MatrixView<T> least, double* sums) {
    const std::int64_t k = candidates.size;
    Array<double> shares(runtime_, k * X.rows);
    KEDGE_LAUNCH(runtime_, closer<T>, blocks_for(X.rows, 8), dim3(kLanes, 8), 0, X, table, candidates, before, least,
                 shares.data());
    for (std::int64_t c = 0; c < k; ++c)
      KEDGE_LAUNCH(runtime_, tile_shares<double>, blocks_for(X.rows, kRowTile), kRowTile, 0,
                   Shares<double>{raw(shares) + c * X.rows, nullptr}, X.rows, sums + c, k);
  }

  // False where the centres are too many, or too long for shared memory.
  bool assign_to_few(MatrixView<const T> X, MatrixView<const T> centers, const Array<T>& norms,
                     VectorView<std::int32_t> labels, Array<unsigned long long>& changed) {
    const auto assign = [&]<int kMost>() {
      const bool is_wide = X.cols >= kWideRow && lies_in_pieces(X);
      const std::int64_t columns = is_wide ? wide_columns(X.cols) : X.cols;
      const std::size_t bytes = static_cast<std::size_t>((columns + 1) * kMost) * sizeof(T);
      if (centers.rows > kMost || bytes > kPlainSharedBytes) return false;
      if (is_wide) {
        constexpr int kRowsOfBlock = kFewThreads / kRowThreads * wide_rows_at_once(kMost);
        KEDGE_LAUNCH(runtime_, (assign_wide<kMost, T>), blocks_for(X.rows, kRowsOfBlock), kFewThreads, bytes, X,
                     centers, norms.data(), ScoreBound<T>(X.cols), std::numeric_limits<T>::infinity(),
                     std::numeric_limits<double>::infinity(), raw(labels), changed.data());
        return true;
      }
      KEDGE_LAUNCH(runtime_, (assign_few<kMost, T>), blocks_for(X.rows, kFewThreads), kFewThreads, bytes, X, centers,
                   norms.data(), ScoreBound<T>(X.cols), lies_in_pieces(X), std::numeric_limits<T>::infinity(),
                   std::numeric_limits<double>::infinity(), raw(labels), changed.data());
      return true;
    };
    return assign.template operator()<8>() || assign.template operator()<16>() ||
           assign.template operator()<kMostFewCenters>();
  }

  void assign_to_many(MatrixView<const T> X, MatrixView<const T> centers, const Array<T>& norms,
                      VectorView<std::int32_t> labels, Array<unsigned long long>& changed) {
    CudaRuntime& gpu = runtime_;
    Array<T> gaps(gpu, X.rows);
    Array<std::int32_t> best(gpu, X.rows);
    KEDGE_LAUNCH(gpu, best_centers<T>, blocks_for(X.rows, TileShape<T>::kTile), TileShape<T>::kThreads,
                 TileShape<T>::kTileBytes, X, centers, norms.data(), std::numeric_limits<T>::infinity(), best.data(),
                 gaps.data());
    KEDGE_LAUNCH(gpu, settle<T>, blocks_for(X.rows, 8), dim3(kLanes, 8), 0, X, centers, norms.data(), best.data(),
                 gaps.data(), std::numeric_limits<double>::infinity(), raw(labels), changed.data());
  }

  const Backend<T>& ops_;
};

}   // namespace

template <class T>
std::unique_ptr<ClusterOps<T>> make_cuda_clusters(const CudaParts<T>& parts) {
  return std::make_unique<CudaClusters<T>>(parts);
}
template std::unique_ptr<ClusterOps<float>> make_cuda_clusters<float>(const CudaParts<float>&);
template std::unique_ptr<ClusterOps<double>> make_cuda_clusters<double>(const CudaParts<double>&);

}  // namespace kedge::engine
