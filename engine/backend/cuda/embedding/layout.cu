// Epochs of a layout, a launch a step.
#include "engine/backend/cuda/embedding/layout.h"

#include <vector>

#include "engine/backend/cuda/embedding/layout.cuh"
#include "engine/core/array.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

class CudaLayout final : public PlaceLayout {
 public:
  CudaLayout(CudaRuntime& runtime, const LayoutEdges& edges, const LayoutRules& rules, std::span<const float> places,
             std::int64_t dims)
      : runtime_(runtime),
        rules_(rules),
        n_(static_cast<std::int64_t>(places.size()) / dims),
        dims_(dims),
        begin_(runtime, edges.begin),
        columns_(runtime, edges.columns),
        shares_(runtime, edges.shares),
        places_(runtime, places),
        moved_(runtime, n_ * dims),
        pushed_(runtime, is_wide() ? n_ * dims : 0) {}

  void advance(std::int64_t first, std::span<const float> rates) override {
    for (std::size_t e = 0; e < rates.size(); ++e) {
      check_job_stop();
      for (int step = 0; step < kLayoutSteps; ++step)
        take({rules_.force, rules_.negatives, rules_.seed, first + static_cast<std::int64_t>(e), step, rates[e]});
    }
    runtime_.synchronize();
  }

  std::vector<float> places() const override { return places_.to_host(); }

 private:
  bool is_wide() const { return dims_ != 2 && dims_ != 3; }

  void take(const LayoutStep& step) {
    const DeviceLayoutEdges edges{raw(begin_), raw(columns_), raw(shares_)};
    const unsigned blocks = blocks_for(n_, kLayoutBlock), threads = static_cast<unsigned>(kLayoutBlock);
    if (dims_ == 2)
      KEDGE_LAUNCH(runtime_, move_places<2>, blocks, threads, 0, edges, step, raw(places_), raw(moved_), n_);
    else if (dims_ == 3)
      KEDGE_LAUNCH(runtime_, move_places<3>, blocks, threads, 0, edges, step, raw(places_), raw(moved_), n_);
    else
      KEDGE_LAUNCH(runtime_, move_wide_places, blocks, threads, 0, edges, step, raw(places_), raw(moved_), raw(pushed_),
                   n_, dims_);
    std::swap(places_, moved_);
  }

  CudaRuntime& runtime_;
  LayoutRules rules_;
  std::int64_t n_, dims_;
  Array<std::int64_t> begin_;
  Array<std::int32_t> columns_;
  Array<float> shares_, places_, moved_, pushed_;
};

}   // namespace

std::unique_ptr<PlaceLayout> make_cuda_layout(CudaRuntime& runtime, const LayoutEdges& edges, const LayoutRules& rules,
                                              std::span<const float> places, std::int64_t dims) {
  return std::make_unique<CudaLayout>(runtime, edges, rules, places, dims);
}

}   // namespace kedge::engine
