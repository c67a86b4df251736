// Finds present classes, weighs them, and spreads scores over all classes.
#include "engine/estimators/classes.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "engine/core/require.h"
#include "engine/core/state_archive.h"

namespace kedge::engine {
namespace {

double weight_of(const schema::Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value.data);
  return real ? *real : -1;
}

template <class T>
std::vector<T> host_copy(const Context& ctx, MatrixView<const T> view) {
  std::vector<T> host(static_cast<std::size_t>(view.size()));
  if (view.size() == 0) return host;
  require(view.stride == view.cols, schema::ErrorCode::kInternal, "scores have a row stride");
  ctx.memory().to_host(host.data(), view.data, host.size() * sizeof(T));
  return host;
}

std::vector<std::int64_t> counted(const Target& y) {
  std::vector<std::int64_t> counts(y.classes.size());
  for (const std::int32_t code : y.codes) ++counts[static_cast<std::size_t>(code)];
  return counts;
}

}  // namespace

PresentClasses::PresentClasses(const Target& y) : PresentClasses(y, counted(y)) {}
PresentClasses::PresentClasses(const Context& ctx, const Target& y) : PresentClasses(y, y.class_counts(ctx)) {}
PresentClasses::PresentClasses(const Target& y, const std::vector<std::int64_t>& all_counts)
    : positions(y.classes.size(), -1) {
  for (std::int32_t code = 0; code < y.n_classes(); ++code) {
    if (all_counts[code] == 0) continue;
    positions[code] = size();
    codes.push_back(code), counts.push_back(all_counts[code]), names.push_back(y.classes[code]);
  }
}

DevicePositions::DevicePositions(const Context& ctx, const PresentClasses& present, const Target& y)
    : view_(y.device_codes(ctx)) {
  if (present.size() == present.n_all()) return;
  const Array<std::int32_t> to(ctx.memory(), std::span<const std::int32_t>(present.positions));
  own_ = Array<std::int32_t>(ctx.memory(), view_.size);
  ctx.ops<double>().categories->map_codes(view_, to.view(), own_.view());
  view_ = std::as_const(own_).view();
}

RowWeights::RowWeights(const Context& ctx, const std::vector<double>& by_class, const PresentClasses& present,
                       const Target& y)
    : view_(y.device_weights(ctx)) {
  if (by_class.empty()) return;
  own_ = Array<double>(ctx.memory(), static_cast<std::int64_t>(y.codes.size()));
  const MatrixView<double> out(own_.data(), own_.size(), 1);
  put_rows_by_class(ctx, present, y, by_class, out);
  if (!view_.empty())
    ctx.ops<double>().maps->combine(Binary::kMultiply, out, MatrixView<const double>(view_.data, view_.size, 1), out);
  view_ = std::as_const(own_).view();
}

void put_rows_by_class(const Context& ctx, const PresentClasses& present, const Target& y,
                       const std::vector<double>& rows, MatrixView<double> out) {
  if (out.rows == 0) return;   // no codes would mean all rows of the table
  std::vector<double> by_code(static_cast<std::size_t>(present.n_all() * out.cols));
  for (std::size_t c = 0; c < present.codes.size(); ++c)
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(c) * out.cols, out.cols,
                by_code.begin() + present.codes[c] * out.cols);
  const Matrix<double> table(ctx.memory(), present.n_all(), out.cols, by_code);
  ctx.ops<double>().tables->gather(table.view(), y.device_codes(ctx), {}, {}, out);
}

void PresentClasses::state(StateArchive& archive) {
  archive.indices("codes", codes, kAnySize, 0, archive.n_classes() - 1);
  archive.expect(!codes.empty(), "codes", "names no class");
  archive.expect(std::adjacent_find(codes.begin(), codes.end(), std::greater_equal<>()) == codes.end(), "codes", "is not in order");
  archive.field("counts", counts, size());
  archive.field("names", names, size());
  if (!archive.is_loading()) return;
  positions.assign(static_cast<std::size_t>(archive.n_classes()), -1);
  for (std::size_t c = 0; c < codes.size(); ++c) positions[static_cast<std::size_t>(codes[c])] = static_cast<std::int32_t>(c);
}

std::vector<double> class_totals(const PresentClasses& present, const Target& y) {
  if (y.weights.empty()) return {present.counts.begin(), present.counts.end()};
  std::vector<double> totals(present.codes.size());
  for (std::size_t i = 0; i < y.codes.size(); ++i)
    totals[static_cast<std::size_t>(present.positions[static_cast<std::size_t>(y.codes[i])])] += y.weights[i];
  return totals;
}

std::vector<schema::ParamForm> class_weight_forms() { return {string_form({"balanced"}), object_form(), null_form()}; }

void check_class_weight(std::string_view owner, const schema::Value& class_weight) {
  const auto* map = std::get_if<schema::ValueMap>(&class_weight.data);
  if (!map) return;
  for (const auto& [name, value] : *map)
    if (!(weight_of(value) >= 0))
      refuse_param(owner, "class_weight", class_weight, "must have a number of at least 0 for class \"" + name + "\"");
}

std::vector<double> class_weights(std::string_view owner, const schema::Value& class_weight, const PresentClasses& present,
                                  const Target& y) {
  if (class_weight.is_null()) return {};
  std::vector<double> weights(present.codes.size(), 1.0);
  if (const auto* map = std::get_if<schema::ValueMap>(&class_weight.data)) {
    for (const auto& [name, value] : *map)
      if (std::find(y.classes.begin(), y.classes.end(), name) == y.classes.end())
        refuse_param(owner, "class_weight", class_weight, "but the data has no class \"" + name + "\"");
    for (std::size_t c = 0; c < weights.size(); ++c)
      if (const schema::Value* value = find_value(*map, present.names[c])) weights[c] = weight_of(*value);
    return weights;
  }
  std::vector<double> counts(present.counts.begin(), present.counts.end());
  if (!y.weights.empty()) counts = class_totals(present, y);
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (std::size_t c = 0; c < weights.size(); ++c)
    weights[c] = counts[c] > 0 ? total / (static_cast<double>(present.size()) * counts[c]) : 0.0;
  return weights;
}

template <class T>
void spread_scores(const Context& ctx, const PresentClasses& present, MatrixView<const T> scores, double absent,
                   MatrixView<double> out) {
  const std::vector<T> host = host_copy(ctx, scores);
  std::vector<double> all(static_cast<std::size_t>(out.size()), absent);
  const std::size_t n_all = present.positions.size(), n_present = present.codes.size();
  for (std::int64_t i = 0; i < scores.rows; ++i)
    for (std::size_t c = 0; c < n_present; ++c)
      all[static_cast<std::size_t>(i) * n_all + static_cast<std::size_t>(present.codes[c])] =
          host[static_cast<std::size_t>(i) * n_present + c];
  if (all.empty()) return;
  require(out.stride == out.cols && out.cols == present.n_all(), schema::ErrorCode::kInternal,
          "probabilities need {} columns without padding", present.n_all());
  ctx.memory().to_device(out.data, all.data(), all.size() * sizeof(double));
}

template <class T>
void spread_decision(const Context& ctx, const PresentClasses& present, MatrixView<const T> scores, MatrixView<double> out) {
  if (out.cols != 1) return spread_scores(ctx, present, scores, -std::numeric_limits<double>::infinity(), out);
  const std::vector<T> host = host_copy(ctx, scores);
  std::vector<double> decision(static_cast<std::size_t>(scores.rows));
  for (std::size_t i = 0; i < decision.size(); ++i) {   // a fit without one of the two classes decides for the other
    if (present.size() == 2) decision[i] = static_cast<double>(host[2 * i + 1]) - static_cast<double>(host[2 * i]);
    else decision[i] = present.codes[0] == 1 ? 1.0 : -1.0;
  }
  if (!decision.empty()) ctx.memory().to_device(out.data, decision.data(), decision.size() * sizeof(double));
}

template <class T>
std::vector<std::int32_t> best_codes(const Context& ctx, const PresentClasses& present, MatrixView<const T> scores) {
  Array<std::int32_t> best(ctx.memory(), scores.rows);
  ctx.ops<T>().rows->argmax_rows(scores, best.view());
  std::vector<std::int32_t> codes = best.to_host();
  for (std::int32_t& code : codes) code = present.codes[static_cast<std::size_t>(code)];
  return codes;
}

template void spread_scores(const Context&, const PresentClasses&, MatrixView<const float>, double, MatrixView<double>);
template void spread_scores(const Context&, const PresentClasses&, MatrixView<const double>, double, MatrixView<double>);
template void spread_decision(const Context&, const PresentClasses&, MatrixView<const float>, MatrixView<double>);
template void spread_decision(const Context&, const PresentClasses&, MatrixView<const double>, MatrixView<double>);
template std::vector<std::int32_t> best_codes(const Context&, const PresentClasses&, MatrixView<const float>);
template std::vector<std::int32_t> best_codes(const Context&, const PresentClasses&, MatrixView<const double>);

}  // namespace kedge::engine
