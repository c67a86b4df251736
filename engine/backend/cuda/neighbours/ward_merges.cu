// Ward's linkage on the GPU: five small launches, one scan and one wait a round.
#include "engine/backend/cuda/neighbours/ward_merges.h"

#include <utility>

#include "engine/backend/cuda/neighbours/ward_merges.cuh"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

class WardSearch {
 public:
  WardSearch(CudaRuntime& runtime, MatrixView<const double> points)
      : runtime_(runtime),
        n_(points.rows),
        numbers_(runtime, 4 * n_ + kWardCounts),
        values_(runtime, n_ * (points.cols + 1)),
        nearest_(runtime, n_),
        merges_(runtime, n_) {
    std::int32_t* const numbers = raw(numbers_);
    state_ = {.centroids = raw(values_),
              .sizes = raw(values_) + n_ * points.cols,
              .n = n_,
              .d = points.cols,
              .nearest = raw(nearest_),
              .partner = numbers,
              .live = numbers + n_,
              .next_live = numbers + 2 * n_,
              .active = numbers + 3 * n_,
              .merges = raw(merges_),
              .counts = numbers + 4 * n_};
    runtime_.copy(state_.centroids, raw(points), static_cast<std::size_t>(points.size()) * sizeof(double));
    runtime_.zero(state_.counts, sizeof counts_);
    KEDGE_LAUNCH(runtime_, begin_ward, blocks_for(n_, 128), 128, 0, state_);
    counts_[kWardLive] = counts_[kWardActive] = static_cast<std::int32_t>(n_);
  }

  // All pairs that are each other's nearest. False where a cluster has two that are as near.
  bool merge() {
    const std::int64_t n_live = counts_[kWardLive];
    scan();
    KEDGE_LAUNCH(runtime_, choose_pairs, blocks_for(n_live, 128), 128, 0, state_, n_live);
    KEDGE_LAUNCH(runtime_, move_centroids, row_blocks(n_live, state_.d), row_block(state_.d), 0, state_, n_live);
    runtime_.zero(state_.counts + kWardLive, 2 * sizeof(std::int32_t));
    KEDGE_LAUNCH(runtime_, list_clusters, blocks_for(n_live, 128), 128, 0, state_, n_live);
    std::swap(state_.live, state_.next_live);
    runtime_.to_host(counts_, state_.counts, sizeof counts_);
    return counts_[kWardTies] == 0;
  }
  std::int64_t n_merges() const { return counts_[kWardMerges]; }
  std::vector<WardMerge> merges() const {
    std::vector<WardMerge> all = merges_.to_host();
    all.resize(static_cast<std::size_t>(n_ - 1));
    return all;
  }

 private:
  void scan() {
    const std::int64_t n_active = counts_[kWardActive], n_live = counts_[kWardLive];
    const ScanCut cut = cut_scan(runtime_, n_active, n_live);
    Array<NearestRow> found(runtime_, cut.shares * n_active);
    KEDGE_LAUNCH(runtime_, nearest_clusters, cut.grid(), kExactThreads, 0, state_, n_active, n_live, cut.share,
                 found.data());
    KEDGE_LAUNCH(runtime_, take_clusters, blocks_for(n_active, 128), 128, 0, state_, n_active, cut.shares,
                 found.data());
  }

  CudaRuntime& runtime_;
  std::int64_t n_;
  Array<std::int32_t> numbers_;
  Array<double> values_;
  Array<NearestRow> nearest_;
  Array<WardMerge> merges_;
  WardState state_{};
  std::int32_t counts_[kWardCounts] = {};
};

}   // namespace

std::optional<std::vector<WardMerge>> cuda_ward_merges(CudaRuntime& runtime, MatrixView<const double> points,
                                                       const std::function<void(std::int64_t)>& pause) {
  if (points.rows < 2 || points.cols == 0) return std::nullopt;
  WardSearch search(runtime, points);
  while (search.n_merges() < points.rows - 1) {
    pause(search.n_merges());
    if (!search.merge()) return std::nullopt;
  }
  return search.merges();
}

}   // namespace kedge::engine
