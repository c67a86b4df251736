// Descents of points: three kernels an iteration, enqueued without a wait until something is to be measured.
#include "engine/backend/cuda/embedding/embedding.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/backend/cuda/embedding/forces.cuh"
#include "engine/backend/cuda/embedding/layout.h"
#include "engine/backend/functors.h"
#include "engine/core/array.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

template <int kDims>
class CudaDescent final : public PointDescent {
 public:
  CudaDescent(CudaRuntime& runtime, const GraphView& affinities, std::span<const double> points)
      : runtime_(runtime),
        n_(affinities.n_rows()),
        row_begin_(runtime, affinities.row_begin),
        columns_(runtime, affinities.columns),
        weights_(runtime, static_cast<std::int64_t>(affinities.values.size())),
        steps_(runtime, kDims * n_),
        gains_(runtime, kDims * n_),
        pushes_(runtime, kDims * n_),
        totals_(runtime, blocks_for(n_, kMoveThreads)),
        measures_(runtime, 2 * n_),
        measured_(runtime, 2) {
    const std::vector<float> weights(affinities.values.begin(), affinities.values.end());
    if (!weights.empty()) runtime.to_device(raw(weights_), weights.data(), weights.size() * sizeof(float));
    std::vector<Spot<kDims>> spots(static_cast<std::size_t>(n_));
    for (std::int64_t i = 0; i < n_; ++i)
      for (int d = 0; d < kDims; ++d)
        spots[static_cast<std::size_t>(i)].at[d] = static_cast<float>(points[static_cast<std::size_t>(d * n_ + i)]);
    for (int side = 0; side < 2; ++side) {
      points_[side] = Array<double>(runtime, points);
      spots_[side] = Array<Spot<kDims>>(runtime, std::span<const Spot<kDims>>(spots));
    }
    // The same parts for the same n on every device.
    part_size_ = std::max<std::int64_t>(1, tiles_of(tiles_of(n_, kPushParts), kPushTile)) * kPushTile;
    partial_ = Array<double>(runtime, tiles_of(n_, part_size_) * (kDims + 1) * n_);
    runtime.synchronize();   // the vectors go away
  }

  void restart() override { is_first_ = true; }

  DescentMeasure advance(const PointStep& step, std::int64_t count) override {
    constexpr double kPairs = 2e10;   // between two waits, so that a cancelled job ends
    const auto between = static_cast<std::int64_t>(kPairs / (static_cast<double>(n_) * static_cast<double>(n_))) + 1;
    for (std::int64_t i = 0; i < count; ++i) {
      check_job_stop();
      iterate(step, i == count - 1);
      if ((i + 1) % between == 0 && i < count - 1) runtime_.synchronize();
    }
    sum_values(runtime_, raw(measures_), n_, raw(measured_));
    sum_values(runtime_, raw(measures_) + n_, n_, raw(measured_) + 1);
    const std::vector<double> found = measured_.to_host();
    return {found[0], found[1]};
  }

  std::vector<double> points() const override { return points_[now_].to_host(); }

 private:
  void iterate(const PointStep& step, bool is_measured) {
    const std::int64_t parts = tiles_of(n_, part_size_);
    KEDGE_LAUNCH(runtime_, push_points<kDims>,
                 dim3(blocks_for(n_, kPushThreads * kPushRows), static_cast<unsigned>(parts)), kPushThreads, 0,
                 raw(spots_[now_]), n_, part_size_, raw(partial_));
    KEDGE_LAUNCH(runtime_, add_parts_of_pushes<kDims>, blocks_for(n_, kMoveThreads), kMoveThreads, 0, raw(partial_), n_,
                 parts, raw(pushes_), raw(totals_));
    const DeviceEdges edges{raw(row_begin_), raw(columns_), raw(weights_)};
    const MoveForces forces{raw(pushes_),   raw(totals_),
                            totals_.size(), raw(steps_),
                            raw(gains_),    is_measured ? raw(measures_) : nullptr,
                            step,           std::exchange(is_first_, false)};
    const PointMove<kDims> move{raw(points_[now_]), raw(points_[1 - now_]), raw(spots_[now_]), raw(spots_[1 - now_])};
    KEDGE_LAUNCH(runtime_, move_points<kDims>, blocks_for(n_ * kPullLanes, kMoveThreads), kMoveThreads, 0, edges,
                 forces, move, n_);
    now_ = 1 - now_;
  }

  CudaRuntime& runtime_;
  std::int64_t n_, part_size_ = 0;
  Array<std::int64_t> row_begin_;
  Array<std::int32_t> columns_;
  Array<float> weights_;
  Array<double> points_[2];   // before and after an iteration
  Array<Spot<kDims>> spots_[2];
  Array<double> steps_, gains_, pushes_, totals_, measures_, measured_, partial_;
  int now_ = 0;
  bool is_first_ = true;
};

class CudaEmbedding final : public EmbeddingOps {
 public:
  explicit CudaEmbedding(CudaRuntime& runtime) : runtime_(runtime) {}

  std::unique_ptr<PointDescent> descend(const GraphView& affinities, std::span<const double> points,
                                        int dims) override {
    if (dims == 3) return std::make_unique<CudaDescent<3>>(runtime_, affinities, points);
    return std::make_unique<CudaDescent<2>>(runtime_, affinities, points);
  }

  std::unique_ptr<PlaceLayout> lay_out(const LayoutEdges& edges, const LayoutRules& rules,
                                       std::span<const float> places, std::int64_t dims) override {
    return make_cuda_layout(runtime_, edges, rules, places, dims);
  }

 private:
  CudaRuntime& runtime_;
};

}   // namespace

std::unique_ptr<EmbeddingOps> make_cuda_embedding(CudaRuntime& runtime) {
  return std::make_unique<CudaEmbedding>(runtime);
}

}   // namespace kedge::engine
