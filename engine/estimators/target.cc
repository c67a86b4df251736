// Uploads the arrays of a Target once a device, and asks that device what fits need to know of all rows.
#include "engine/estimators/target.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "engine/core/chosen.h"
#include "engine/core/uploaded.h"

namespace kedge::engine {
namespace {

template <class V>
VectorView<const V> uploaded(const Context& ctx, const std::vector<V>& host, std::optional<Uploaded<V>>& kept) {
  if (!kept) kept.emplace(ctx, std::span<const V>(host));
  return kept->view();
}

// The range of values, read as rows of kAcross and a last one that is shorter: the ops are made for rows.
double largest_magnitude(const Context& ctx, MatrixView<const double> values) {
  constexpr std::int64_t kAcross = 64;
  const std::int64_t rows = values.size() / kAcross, rest = values.size() % kAcross, wide = rows > 0 ? kAcross : 0;
  Array<double> range(ctx.memory(), 2 * (wide + rest));
  const VectorView<double> all = range.view();
  TableOps<double>& tables = *ctx.ops<double>().tables;
  if (wide > 0) tables.column_range({values.data, rows, kAcross}, {}, all.slice(0, wide), all.slice(wide, wide));
  if (rest > 0)
    tables.column_range({values.data + rows * kAcross, 1, rest}, {}, all.slice(2 * wide, rest),
                        all.slice(2 * wide + rest, rest));
  double largest = 0;
  for (const double bound : range.to_host()) largest = std::max(largest, std::abs(bound));
  return largest;
}

}   // namespace

std::vector<TargetOutput> rows_at(const std::vector<TargetOutput>& outputs, const std::vector<std::int32_t>& rows) {
  std::vector<TargetOutput> some;
  for (const TargetOutput& output : outputs)
    some.push_back({output.name, chosen(output.codes, rows), output.classes, chosen(output.values, rows)});
  return some;
}

struct TargetOnDevices::Parts {
  struct Part {   // of one device
    std::optional<Uploaded<std::int32_t>> codes;
    std::optional<Uploaded<double>> values, weights;
    std::optional<std::vector<std::int64_t>> counts;
    std::optional<double> largest;
  };
  std::recursive_mutex guard;
  std::map<const Memory*, Part> by_memory;
};

TargetOnDevices::TargetOnDevices() : parts_(std::make_unique<Parts>()) {}
TargetOnDevices::TargetOnDevices(const TargetOnDevices&) : TargetOnDevices() {}
TargetOnDevices& TargetOnDevices::operator=(const TargetOnDevices&) {
  parts_ = std::make_unique<Parts>();
  return *this;
}
TargetOnDevices::~TargetOnDevices() = default;

VectorView<const std::int32_t> Target::device_codes(const Context& ctx) const {
  const std::lock_guard lock(on_devices.parts_->guard);
  return uploaded(ctx, codes, on_devices.parts_->by_memory[&ctx.memory()].codes);
}

MatrixView<const double> Target::device_values(const Context& ctx) const {
  const std::lock_guard lock(on_devices.parts_->guard);
  const VectorView<const double> all = uploaded(ctx, values, on_devices.parts_->by_memory[&ctx.memory()].values);
  return {all.data, all.size, 1};
}

VectorView<const double> Target::device_weights(const Context& ctx) const {
  const std::lock_guard lock(on_devices.parts_->guard);
  return uploaded(ctx, weights, on_devices.parts_->by_memory[&ctx.memory()].weights);
}

const std::vector<std::int64_t>& Target::class_counts(const Context& ctx) const {
  const std::lock_guard lock(on_devices.parts_->guard);
  std::optional<std::vector<std::int64_t>>& counts = on_devices.parts_->by_memory[&ctx.memory()].counts;
  if (!counts) {
    Array<std::int64_t> found(ctx.memory(), n_classes());
    ctx.ops<double>().categories->count_codes(device_codes(ctx), found.view());
    counts = found.to_host();
  }
  return *counts;
}

double Target::largest_value(const Context& ctx) const {
  const std::lock_guard lock(on_devices.parts_->guard);
  std::optional<double>& largest = on_devices.parts_->by_memory[&ctx.memory()].largest;
  if (!largest) largest = largest_magnitude(ctx, device_values(ctx));
  return *largest;
}

double weight_sum(const Context& ctx, VectorView<const double> weights) {
  Array<double> sum(ctx.memory(), 1);
  ctx.ops<double>().rows->weighted_sums({weights.data, weights.size, 1}, {}, sum.view());
  return sum.to_host()[0];
}

}   // namespace kedge::engine
