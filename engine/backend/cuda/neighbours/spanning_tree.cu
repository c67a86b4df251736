// Boruvka's algorithm on the GPU: seven small launches, one scan and one wait a round.
#include "engine/backend/cuda/neighbours/spanning_tree.h"

#include <cmath>

#include "engine/backend/cuda/neighbours/spanning_tree.cuh"
#include "engine/backend/raw.h"
#include "engine/core/array.h"

namespace kedge::engine {
namespace {

constexpr int kThreads = 128;   // of what goes by row

class SpanningSearch {
 public:
  SpanningSearch(CudaRuntime& runtime, MatrixView<const double> points, const Distance& distance,
                 VectorView<const double> reach)
      : runtime_(runtime),
        distance_(distance),
        n_(points.rows),
        numbers_(runtime, 3 * n_ + kSpanCounts),
        keys_(runtime, 4 * n_),
        nearest_(runtime, n_),
        edges_(runtime, n_) {
    std::int32_t* const numbers = raw(numbers_);
    EdgeKey* const keys = raw(keys_);
    state_ = {.points = raw(points),
              .reach = reach.empty() ? nullptr : raw(reach),
              .n = n_,
              .d = points.cols,
              .stride = points.stride,
              .parents = numbers,
              .part = numbers + n_,
              .active = numbers + 2 * n_,
              .nearest = raw(nearest_),
              .length = keys,
              .between = keys + n_,
              .low = keys + 2 * n_,
              .high = keys + 3 * n_,
              .edges = raw(edges_),
              .counts = numbers + 3 * n_};
    runtime_.zero(state_.counts, sizeof counts_);
    KEDGE_LAUNCH(runtime_, begin_span, blocks_for(n_, kThreads), kThreads, 0, state_);
    counts_[kSpanActive] = static_cast<std::int32_t>(n_);
  }

  // One edge for each part. False where two that compete are equal.
  bool join() {
    scan();
    KEDGE_LAUNCH(runtime_, least_lengths, blocks_for(n_, kThreads), kThreads, 0, state_);
    KEDGE_LAUNCH(runtime_, least_between, blocks_for(n_, kThreads), kThreads, 0, state_);
    KEDGE_LAUNCH(runtime_, least_rows, blocks_for(n_, kThreads), kThreads, 0, state_);
    KEDGE_LAUNCH(runtime_, join_parts, blocks_for(n_, kThreads), kThreads, 0, state_);
    KEDGE_LAUNCH(runtime_, name_parts, blocks_for(n_, kThreads), kThreads, 0, state_);
    runtime_.zero(state_.counts + kSpanActive, sizeof(std::int32_t));
    KEDGE_LAUNCH(runtime_, list_active, blocks_for(n_, kThreads), kThreads, 0, state_);
    runtime_.to_host(counts_, state_.counts, sizeof counts_);
    return counts_[kSpanTies] == 0;
  }
  std::int64_t n_edges() const { return counts_[kSpanEdges]; }
  std::vector<SpanningEdge> edges() const {
    std::vector<SpanningEdge> all = edges_.to_host();
    all.resize(static_cast<std::size_t>(n_ - 1));
    return all;
  }

 private:
  void scan() {
    const std::int64_t n_active = counts_[kSpanActive];
    const ScanCut cut = cut_scan(runtime_, n_active, n_);
    Array<NearestRow> found(runtime_, cut.shares * n_active);
    with_metric(distance_.metric, [&]<Metric M>() {
      KEDGE_LAUNCH(runtime_, nearest_others<M>, cut.grid(), kExactThreads, 0, state_, distance_.power, n_active,
                   cut.share, found.data());
    });
    KEDGE_LAUNCH(runtime_, take_nearest, blocks_for(n_, kThreads), kThreads, 0, state_, n_active, cut.shares,
                 found.data());
  }

  CudaRuntime& runtime_;
  Distance distance_;
  std::int64_t n_;
  Array<std::int32_t> numbers_;
  Array<EdgeKey> keys_;
  Array<NearestRow> nearest_;
  Array<SpanningEdge> edges_;
  SpanState state_{};
  std::int32_t counts_[kSpanCounts] = {};
};

}   // namespace

std::optional<std::vector<SpanningEdge>> cuda_spanning_edges(CudaRuntime& runtime, MatrixView<const double> points,
                                                             const Distance& distance, VectorView<const double> reach,
                                                             const std::function<void(std::int64_t)>& pause) {
  const bool has_own_powers = distance.metric == Metric::kMinkowski && std::floor(distance.power) != distance.power;
  if (points.rows < 2 || has_own_powers || distance.power > 16) return std::nullopt;
  SpanningSearch search(runtime, points, distance, reach);
  while (search.n_edges() < points.rows - 1) {
    pause(search.n_edges());
    if (!search.join()) return std::nullopt;
  }
  return search.edges();
}

}   // namespace kedge::engine
