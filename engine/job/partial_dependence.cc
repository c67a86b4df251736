// Predictions with columns set to the points of a grid: sklearn/inspection/_partial_dependence.py, 1.9, method "brute".
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/job/edited_rows.h"
#include "engine/job/inspection.h"
#include "engine/job/refuse.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

const std::string kTask = "task.partialDependence";

// One entry of the task's features: one column or two, and the points of each.
struct Grid {
  std::vector<std::int32_t> columns;
  std::vector<std::vector<double>> axes;

  std::int64_t points() const {
    std::int64_t n = 1;
    for (const std::vector<double>& axis : axes) n *= static_cast<std::int64_t>(axis.size());
    return n;
  }
  // Of point p, the last axis running fastest.
  double value(std::int64_t p, std::size_t axis) const {
    for (std::size_t k = axes.size(); k-- > axis + 1;) p /= static_cast<std::int64_t>(axes[k].size());
    return axes[axis][static_cast<std::size_t>(p) % axes[axis].size()];
  }
};

std::int32_t column_of(const Value& feature, const std::vector<Feature>& features, const std::string& path) {
  if (const auto* position = std::get_if<std::int64_t>(&feature.data)) {
    const auto n = static_cast<std::int64_t>(features.size());
    if (*position >= n) refuse(path, fmt::format("column {} of {}: positions count from 0", *position, n));
    return static_cast<std::int32_t>(*position);
  }
  const auto& name = std::get<std::string>(feature.data);
  std::vector<std::string_view> names;
  for (const Feature& known : features) names.push_back(known.name);
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) refuse(path, fmt::format("the data have no column '{}'{}", name, suggestion(name, names)));
  return static_cast<std::int32_t>(found - names.begin());
}

std::vector<std::int32_t> columns_of(const Value& entry, const std::vector<Feature>& features,
                                     const std::string& path) {
  const auto* pair = std::get_if<ValueList>(&entry.data);
  if (!pair) return {column_of(entry, features, path)};
  std::vector<std::int32_t> columns;
  for (std::size_t k = 0; k < pair->size(); ++k)
    columns.push_back(column_of((*pair)[k], features, fmt::format("{}[{}]", path, k)));
  if (columns.size() == 2 && columns[0] == columns[1]) refuse(path, "both columns of the pair are the same");
  return columns;
}

// numpy orders NaN behind all numbers.
bool before(double a, double b) {
  return a < b || (std::isnan(b) && !std::isnan(a));
}

std::vector<double> distinct(const std::vector<double>& sorted) {
  std::vector<double> values;
  for (const double value : sorted)
    if (values.empty() || !(values.back() == value || (std::isnan(values.back()) && std::isnan(value))))
      values.push_back(value);
  return values;
}

// scipy.stats.mstats.mquantiles(sorted, p).
double quantile(const std::vector<double>& sorted, double p) {
  constexpr double kAlpha = 0.4;
  const auto n = static_cast<double>(sorted.size());
  const double place = n * p + (kAlpha + p * (1.0 - kAlpha - kAlpha));
  const double k = std::floor(std::clamp(place, 1.0, n - 1)), share = std::clamp(place - k, 0.0, 1.0);
  const auto at = static_cast<std::size_t>(k);
  return (1.0 - share) * sorted[at - 1] + share * sorted[at];
}

std::vector<double> linspace(double start, double stop, std::int64_t n) {
  const double step = (stop - start) / static_cast<double>(n - 1);
  std::vector<double> values;
  for (std::int64_t i = 0; i + 1 < n; ++i) values.push_back(static_cast<double>(i) * step + start);
  values.push_back(stop);
  return values;
}

std::vector<double> axis_of(std::vector<double> values, const Feature& feature, const schema::PartialDependence& task) {
  std::ranges::sort(values, before);
  std::vector<double> axis = distinct(values);
  if (feature.is_nominal || static_cast<std::int64_t>(axis.size()) < task.gridResolution) return axis;
  const double low = quantile(values, task.percentiles.empty() ? 0.05 : task.percentiles[0]);
  const double high = quantile(values, task.percentiles.empty() ? 0.95 : task.percentiles[1]);
  if (std::abs(low - high) <= 1e-8 + 1e-5 * std::abs(high)) {
    refuse(
        kTask + ".percentiles",
        fmt::format("column '{}' is {} at one percentile and {} at the other: take percentiles that are further apart",
                    feature.name, low, high),
        ErrorCode::kBadData);
  }
  return linspace(low, high, task.gridResolution);
}

template <class T>
std::vector<Grid> grids_of(const Context& ctx, const schema::PartialDependence& task, const Samples<T>& X) {
  const std::vector<Feature> features = features_of(*X.table);
  Matrix<T> scratch;
  const MatrixView<const T> values = X.values(ctx, scratch);
  std::vector<Grid> grids;
  for (std::size_t i = 0; i < task.features.size(); ++i) {
    ctx.check_stop();
    Grid& grid = grids.emplace_back();
    grid.columns = columns_of(task.features[i], features, fmt::format("{}.features[{}]", kTask, i));
    for (const std::int32_t column : grid.columns) {
      Matrix<T> cells(ctx.memory(), values.rows, 1);
      const Array<std::int32_t> place(ctx.memory(), std::vector<std::int32_t>{column});
      ctx.ops<T>().categories->take_columns(values, {}, place.view(), cells.view());
      const std::vector<T> host = cells.to_host();
      grid.axes.push_back(axis_of({host.begin(), host.end()}, features[static_cast<std::size_t>(column)], task));
    }
  }
  return grids;
}

// What is asked of the last step: rows x n_outputs, on the host.
struct Response {
  std::vector<double> values;
  std::int64_t n_outputs = 1;
};

// Of two classes the second one alone.
Response of_classes(std::vector<double> values, std::int64_t n_classes) {
  if (n_classes != 2) return {std::move(values), n_classes};
  for (std::size_t i = 0; 2 * i < values.size(); ++i) values[i] = values[2 * i + 1];
  values.resize(values.size() / 2);
  return {std::move(values), 1};
}

template <class T>
Response response_of(const Context& ctx, const schema::PartialDependence& task, Chain<T>& chain,
                     const Samples<T>& rows) {
  const Samples<T> X = chain.transformed(ctx, rows, chain.size() - 1);
  const Estimator<T>& last = chain.step(chain.size() - 1);
  if (const auto* regressor = dynamic_cast<const Regressor<T>*>(&last)) return {regressor->predict(ctx, X), 1};
  const auto& classifier = dynamic_cast<const Classifier<T>&>(last);
  const std::int64_t n_classes = classifier.n_classes();
  if (task.responseMethod != "decision_function" && classifier.has_proba()) {
    Matrix<double> proba(ctx.memory(), X.n_rows(), n_classes);
    classifier.predict_proba(ctx, X, proba.view());
    return of_classes(proba.to_host(), n_classes);
  }
  Matrix<double> decision(ctx.memory(), X.n_rows(), n_classes == 2 ? 1 : n_classes);
  classifier.decision_function(ctx, X, decision.view());
  return {decision.to_host(), decision.cols()};
}

// Averages: n_outputs x points; individual answers: n_outputs x rows x points.
struct Dependence {
  std::int64_t n_outputs = 0;
  std::vector<double> average, individual;
};

void add_point(const Response& response, std::int64_t n_rows, std::int64_t copy, std::int64_t point,
               std::int64_t n_points, const std::vector<double>& weights, const schema::PartialDependence& task,
               Dependence& found) {
  if (found.n_outputs == 0) {
    found.n_outputs = response.n_outputs;
    found.average.resize(static_cast<std::size_t>(found.n_outputs * n_points));
    if (task.kind != "average") found.individual.resize(static_cast<std::size_t>(found.n_outputs * n_rows * n_points));
  }
  const double* rows = response.values.data() + copy * n_rows * response.n_outputs;
  for (std::int64_t k = 0; k < response.n_outputs; ++k) {
    double sum = 0, total = 0;
    for (std::int64_t i = 0; i < n_rows; ++i) {
      const double value = rows[i * response.n_outputs + k],
                   weight = weights.empty() ? 1.0 : weights[static_cast<std::size_t>(i)];
      sum += weight * value, total += weight;
      if (!found.individual.empty())
        found.individual[static_cast<std::size_t>((k * n_rows + i) * n_points + point)] = value;
    }
    found.average[static_cast<std::size_t>(k * n_points + point)] = sum / total;
  }
}

// Progress over all grids.
struct Counter {
  std::int64_t done = 0, total = 0;
};

template <class T>
Dependence dependence_of(const Context& ctx, const schema::PartialDependence& task, Chain<T>& chain,
                         const Samples<T>& X, const Grid& grid, const std::vector<double>& weights, Counter& counter) {
  const std::int64_t n_points = grid.points(), n = X.n_rows(), copies = copies_at_once(n, n_points);
  EditedRows<T> edited(ctx, X, copies);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n * copies));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) / n);
  const Array<std::int32_t> copy_of_row(ctx.memory(), rows);
  const std::size_t n_axes = grid.axes.size();
  Dependence found;
  for (std::int64_t first = 0; first < n_points; first += copies) {
    ctx.check_stop();
    std::vector<T> points;
    for (std::int64_t c = 0; c < copies; ++c)   // the last block may be filled up
      for (std::size_t k = 0; k < n_axes; ++k)
        points.push_back(static_cast<T>(grid.value(std::min(first + c, n_points - 1), k)));
    const Matrix<T> on_device(ctx.memory(), copies, static_cast<std::int64_t>(n_axes), points);
    for (std::size_t k = 0; k < n_axes; ++k)
      edited.set(grid.columns[k], on_device.view(), static_cast<std::int32_t>(k), copy_of_row.view());
    const Response response = response_of(ctx, task, chain, edited.samples());
    const std::int64_t last = std::min(first + copies, n_points);
    for (std::int64_t p = first; p < last; ++p) add_point(response, n, p - first, p, n_points, weights, task, found);
    counter.done += last - first;
    ctx.progress("grid", counter.done, counter.total, "points");
  }
  return found;
}

// The numbers as lists of this shape.
Value nested(std::span<const double> numbers, std::span<const std::size_t> shape) {
  if (shape.size() == 1) return std::vector<double>(numbers.begin(), numbers.end());
  ValueList list;
  const std::size_t part = numbers.size() / std::max<std::size_t>(shape[0], 1);
  for (std::size_t i = 0; i < shape[0]; ++i) list.push_back(nested(numbers.subspan(i * part, part), shape.subspan(1)));
  return list;
}

Value axis_value(const std::vector<double>& axis, const Feature& feature) {
  if (!feature.is_nominal) return axis;
  ValueList texts;
  for (const double code : axis)
    texts.push_back(std::isnan(code) ? Value() : Value(feature.categories.at(static_cast<std::size_t>(code))));
  return texts;
}

ValueMap value_of(const Dependence& found, const Grid& grid, const std::vector<Feature>& features, std::int64_t n_rows,
                  const std::string& kind) {
  ValueList names, axes;
  std::vector<std::size_t> shape{static_cast<std::size_t>(found.n_outputs)};
  for (std::size_t k = 0; k < grid.axes.size(); ++k) {
    const Feature& feature = features[static_cast<std::size_t>(grid.columns[k])];
    names.emplace_back(feature.name), axes.push_back(axis_value(grid.axes[k], feature));
    shape.push_back(grid.axes[k].size());
  }
  ValueMap value{{"features", std::move(names)}, {"grid_values", std::move(axes)}};
  if (kind != "individual") value.emplace_back("average", nested(found.average, shape));
  if (kind == "average") return value;
  shape.insert(shape.begin() + 1, static_cast<std::size_t>(n_rows));
  value.emplace_back("individual", nested(found.individual, shape));
  return value;
}

void require_few(const schema::PartialDependence& task, const std::vector<Grid>& grids, std::int64_t n_rows,
                 std::int64_t n_outputs) {
  std::int64_t numbers = 0;
  for (const Grid& grid : grids) numbers += grid.points() * n_outputs * (task.kind == "average" ? 1 : n_rows);
  if (numbers <= kMostDependences) return;
  refuse(kTask + ".kind",
         fmt::format("the answer would have {} numbers, at most {}: take fewer features, a smaller gridResolution{}",
                     numbers, kMostDependences,
                     task.kind == "average" ? "" : " or fewer rows (select.sample), or the kind average"));
}

}   // namespace

std::int64_t copies_at_once(std::int64_t n_rows, std::int64_t points) {
  constexpr std::int64_t kRows = 65536;
  const std::int64_t most = std::max<std::int64_t>(1, std::min(points, kRows / std::max<std::int64_t>(n_rows, 1)));
  const std::int64_t blocks = (points + most - 1) / most;
  return (points + blocks - 1) / blocks;
}

template <class T>
void partial_dependence(const Context& ctx, const schema::PartialDependence& task, Chain<T>& chain,
                        const Samples<T>& given, const Target& y, schema::Result& result) {
  const Samples<T> X = densified(ctx, "partialDependence", given);
  const std::vector<Grid> grids = grids_of(ctx, task, X);
  require_few(task, grids, X.n_rows(), y.n_classes() > 2 ? y.n_classes() : 1);
  const std::vector<Feature> features = features_of(*X.table);
  Counter counter;
  for (const Grid& grid : grids) counter.total += grid.points();
  ctx.progress("grid", 0, counter.total, "points");
  ValueList values;
  for (const Grid& grid : grids)
    values.emplace_back(
        value_of(dependence_of(ctx, task, chain, X, grid, y.weights, counter), grid, features, X.n_rows(), task.kind));
  result.evaluation.emplace_back("partial_dependence", std::move(values));
}

template void partial_dependence(const Context&, const schema::PartialDependence&, Chain<float>&, const Samples<float>&,
                                 const Target&, schema::Result&);
template void partial_dependence(const Context&, const schema::PartialDependence&, Chain<double>&,
                                 const Samples<double>&, const Target&, schema::Result&);

}   // namespace kedge::engine
