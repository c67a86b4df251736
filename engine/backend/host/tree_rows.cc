// Takes a tree's rows and chooses their fixed units.
#include "engine/backend/host/tree_rows.h"

#include "engine/backend/host/tree_draft.h"
#include "engine/backend/raw.h"
#include "engine/core/require.h"

namespace kedge::engine {

double fixed_point_scale(double magnitude) {
  if (!(magnitude > 0)) return 1;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  return std::ldexp(1.0, std::min(52 - exponent, 40));
}

namespace {

std::vector<double> class_weights(const HostForestInput& in, const std::vector<std::uint32_t>& drawn) {
  if (in.target.n_classes == 0) return {};
  std::vector<std::int32_t> by_class(static_cast<std::size_t>(in.target.n_classes));
  for (std::int64_t i = 0; i < in.n_rows; ++i)
    by_class[raw(in.target.codes)[in.rows ? in.rows[i] : i]] += static_cast<std::int32_t>(drawn[i]);
  return make_rules(in.options, by_class).class_weight;
}

}  // namespace

TreeRows take_rows(const HostForestInput& in, const std::vector<std::uint32_t>& drawn) {
  const std::vector<double> class_weight = class_weights(in, drawn);
  TreeRows rows;
  double total = 0;
  bool are_whole = true;
  for (std::int64_t i = 0; i < in.n_rows; ++i) {
    const auto row = static_cast<std::uint32_t>(in.rows ? in.rows[i] : i);
    double weight = drawn[i];
    if (!in.target.weights.empty()) weight *= in.target.weights[i];
    if (!class_weight.empty()) weight *= class_weight[raw(in.target.codes)[row]];
    if (!(weight > 0)) continue;
    rows.position.push_back(static_cast<std::uint32_t>(i)), rows.table_row.push_back(row), rows.weight.push_back(weight);
    total += weight, are_whole = are_whole && weight == std::floor(weight);
  }
  require(rows.size() > 0, schema::ErrorCode::kBadData, "all rows of a tree weigh 0, some must weigh more");
  rows.weight_scale = are_whole && total < 0x7fffffff ? 1 : fixed_point_scale(total);
  return rows;
}

std::vector<std::int64_t> fixed_sums(std::span<const double> weight, std::span<const double> value,
                                     const ForestOptions& options) {
  double weights = 0, sum = 0, most = 0;
  for (std::size_t i = 0; i < value.size(); ++i) weights += weight[i], sum += weight[i] * value[i];
  const bool are_whole =
      options.draws == TreeDraws::kSklearn && std::ranges::all_of(value, [](double y) { return y == std::floor(y); });
  const double centre = options.criterion == Criterion::kPoisson || are_whole ? 0 : sum / weights;
  for (const double y : value) most = std::max(most, std::abs(y - centre));
  const double scale = fixed_point_scale(most * weights);
  std::vector<std::int64_t> sums;
  sums.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) sums.push_back(std::llround(weight[i] * (value[i] - centre) * scale));
  return sums;
}

}  // namespace kedge::engine
