// The targets of networks: on the host, and on the device as their losses read them.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "engine/backend/ops/network.h"
#include "engine/core/array.h"
#include "engine/core/context.h"

namespace kedge::engine {

// The targets on the host; either the codes (0 .. n_outputs - 1, or 0 and 1 with one output) or the values.
struct MlpTarget {
  const char* owner = "";
  OutputLoss loss = OutputLoss::kSquared;
  std::int64_t n_outputs = 1;
  std::vector<std::int32_t> codes;
  std::vector<double> values;
  const std::vector<double>& weights;   // empty: all are 1

  bool has_classes() const { return values.empty(); }
  // The sum of the weights of these rows.
  double weight_of(std::span<const std::int32_t> rows) const {
    if (weights.empty()) return static_cast<double>(rows.size());
    return std::accumulate(rows.begin(), rows.end(), 0.0,
                           [&](double sum, std::int32_t row) { return sum + weights[static_cast<std::size_t>(row)]; });
  }
};

// The targets on the device.
template <class V>
struct DeviceGoals {
  Array<V> values;
  Array<std::int32_t> codes;
  Array<double> weights;

  DeviceGoals(const Context& ctx, const MlpTarget& target)
      : values(ctx.memory(), std::span<const V>(std::vector<V>(target.values.begin(), target.values.end()))),
        codes(ctx.memory(), std::span<const std::int32_t>(target.codes)),
        weights(ctx.memory(), std::span<const double>(target.weights)) {}
  Goals<V> of(VectorView<const std::int32_t> batch) const {
    return {batch, values.view(), codes.view(), weights.view()};
  }
};

// The sum of what ops added to places of it since it was last taken.
class LossSum {
 public:
  explicit LossSum(const Context& ctx) : places_(ctx.memory(), kLossSums) { places_.zero(); }
  VectorView<double> view() { return places_.view(); }
  double take() {
    const std::vector<double> host = places_.to_host();
    places_.zero();
    return std::accumulate(host.begin(), host.end(), 0.0);
  }

 private:
  Array<double> places_;
};

}   // namespace kedge::engine
