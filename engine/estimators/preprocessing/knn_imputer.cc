// KNNImputer: distances by products, and means of the nearest that have a value.
#include "engine/estimators/preprocessing/knn_imputer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using P = KnnImputerParams;
using schema::Value;
constexpr const char* kOwner = "KNNImputer";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kCells = std::int64_t{1} << 22;   // distances that are held together: 32 MB
constexpr std::int64_t kTogether = 16;                   // rows that one thread takes

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("missing_values", &P::missing_values, missing_values_forms(),
               "What stands for a missing value: \"NaN\" or a number.")
          .add("n_neighbors", &P::n_neighbors, at_least(1), "Rows whose values are averaged.")
          .add("weights", &P::weights, {"uniform", "distance"},
               "All neighbours alike, or by the inverse of their distance.")
          .add("metric", &P::metric, {"nan_euclidean"}, "The distance: Euclidean over the columns that both rows have.")
          .ignore("copy", true, {boolean_form()})
          .add("add_indicator", &P::add_indicator, "Add a column of zeros and ones for each column that lacked values.")
          .add("keep_empty_features", &P::keep_empty_features, "Keep columns without any value, filled with 0.");
  return set;
}

// 1 for each cell that is missing.
template <class T>
std::vector<char> missing_of(const std::vector<T>& rows, const std::vector<T>& missing) {
  std::vector<char> marks(rows.size());
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const T mark = missing[e % missing.size()];
    marks[e] = std::isnan(mark) ? std::isnan(rows[e]) : rows[e] == mark;
  }
  return marks;
}

// Three blocks of columns, so that the product of a query's with a row's is the sum of squared differences where both
// have values: [x^2, is there, -2 x] and [is there, y^2, y], about the means.
std::vector<double> expanded(std::span<const double> rows, const std::vector<double>& mean, bool is_query) {
  const std::size_t d = mean.size(), n = rows.size() / d;
  std::vector<double> all(3 * rows.size(), 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < d; ++j) {
      const double value = rows[i * d + j] - mean[j];
      if (std::isnan(value)) continue;
      double* const row = all.data() + i * 3 * d;
      row[j] = is_query ? value * value : 1.0;
      row[d + j] = is_query ? 1.0 : value * value;
      row[2 * d + j] = is_query ? -2 * value : value;
    }
  return all;
}

}   // namespace

template <class T>
KNNImputer<T>::KNNImputer(const schema::ValueMap& params) : params_(param_set().parse(params)) {}

template <class T>
schema::EstimatorInfo KNNImputer<T>::info() {
  return {.name = kOwner,
          .kind = "transformer",
          .family = "impute",
          .doc = "Replace missing values by the mean of the nearest rows that have them.",
          .params = param_set().infos(),
          .attributes = {"indicator_"},
          .deviations = {"metric is nan_euclidean.", "Of neighbours at the same distance the first rows are taken.",
                         "float32 input is averaged in double."}};
}

template <class T>
MemoryNeed KNNImputer<T>::memory(const SampleShape& X, const schema::Step&) {
  MemoryNeed need = memory::makes(X, 2 * X.cols, 14 * memory::doubles(X) + 5 * kCells * memory::kDouble);
  need.is_exact = false;
  return need;
}

template <class T>
void KNNImputer<T>::fit(const Context& ctx, const Samples<T>& X, const Target&) {
  require_rows(kOwner, X);
  ctx.check_stop();
  const std::vector<T> rows = host_rows(ctx, X);
  const std::vector<char> lacks = missing_of(rows, missing_cells(ctx, kOwner, params_.missing_values, X));
  const auto d = static_cast<std::size_t>(X.n_cols());
  std::vector<double> counts(d, 0.0);
  rows_.assign(rows.size(), kNan), mean_.assign(d, 0.0), lacking_.clear();
  for (std::size_t e = 0; e < rows.size(); ++e) {
    if (lacks[e]) continue;
    rows_[e] = static_cast<double>(rows[e]);
    mean_[e % d] += rows_[e], ++counts[e % d];
  }
  for (std::size_t j = 0; j < d; ++j) {
    mean_[j] = counts[j] > 0 ? mean_[j] / counts[j] : kNan;
    if (counts[j] < static_cast<double>(X.n_rows())) lacking_.push_back(static_cast<std::int32_t>(j));
    if (counts[j] == 0 && !params_.keep_empty_features)
      ctx.warn(fmt::format("{}: column {} has no value at all and is left out; see keep_empty_features", kOwner,
                           X.table->column_label(static_cast<std::int64_t>(j))));
  }
  require(params_.keep_empty_features || params_.add_indicator ||
              std::ranges::any_of(counts, [](double c) { return c > 0; }),
          schema::ErrorCode::kBadData, "{}: no column has any value", kOwner);
}

// Of the nearest fitted rows that have a value in this column, from the sums of squares and the columns in common.
template <class T>
double KNNImputer<T>::imputed(const double* squares, const double* counts, std::size_t column) const {
  const std::size_t d = n_columns(), n = rows_.size() / d, most = static_cast<std::size_t>(params_.n_neighbors);
  std::vector<std::pair<double, std::size_t>> nearest;   // a heap, the furthest first
  for (std::size_t i = 0; i < n; ++i) {
    if (!(counts[i] > 0) || std::isnan(rows_[i * d + column])) continue;
    const double distance = std::max(0.0, squares[i]) / counts[i];
    if (nearest.size() == most) {
      if (!(distance < nearest.front().first)) continue;
      std::ranges::pop_heap(nearest), nearest.pop_back();
    }
    nearest.emplace_back(distance, i), std::ranges::push_heap(nearest);
  }
  if (nearest.empty()) return mean_[column];
  const bool has_same = std::ranges::any_of(nearest, [](const auto& one) { return one.first == 0; });
  std::ranges::sort(nearest, {}, [](const auto& one) { return one.second; });   // sums in the order of the rows
  double sum = 0, total = 0;
  for (const auto& [distance, i] : nearest) {
    const double weight = params_.weights == "uniform" ? 1.0
                          : has_same                   ? (distance == 0 ? 1.0 : 0.0)
                                                       : 1 / std::sqrt(distance);
    sum += weight * rows_[i * d + column], total += weight;
  }
  return sum / total;
}

template <class T>
void KNNImputer<T>::impute(const Context& ctx, std::vector<T>& rows, const std::vector<char>& lacks) const {
  const std::size_t d = n_columns(), n = rows_.size() / d;
  std::vector<std::size_t> receivers;
  for (std::size_t i = 0; i < rows.size() / d; ++i)
    for (std::size_t j = 0; j < d; ++j)
      if (lacks[i * d + j] && !std::isnan(mean_[j])) {
        receivers.push_back(i);
        break;
      }
  if (receivers.empty()) return;
  const auto width = static_cast<std::int64_t>(d), n_fitted = static_cast<std::int64_t>(n);
  const Matrix<double> fitted(ctx.memory(), n_fitted, 3 * width, expanded(rows_, mean_, false));
  const auto step = static_cast<std::size_t>(std::clamp<std::int64_t>(kCells / n_fitted, 16, 4096));
  for (std::size_t first = 0; first < receivers.size(); first += step) {
    ctx.check_stop();
    const std::size_t count = std::min(step, receivers.size() - first);
    std::vector<double> queries(count * d, kNan);
    for (std::size_t e = 0; e < queries.size(); ++e) {
      const std::size_t cell = receivers[first + e / d] * d + e % d;
      if (!lacks[cell]) queries[e] = static_cast<double>(rows[cell]);
    }
    const auto n_queries = static_cast<std::int64_t>(count);
    const Matrix<double> asked(ctx.memory(), n_queries, 3 * width, expanded(queries, mean_, true));
    Matrix<double> squares(ctx.memory(), n_queries, n_fitted), common(ctx.memory(), n_queries, n_fitted);
    LinearOps<double>& linear = *ctx.ops<double>().linear;
    linear.gemm(Transpose::kNo, Transpose::kYes, 1.0, asked.view(), fitted.view(), 0.0, squares.view());
    linear.gemm(Transpose::kNo, Transpose::kYes, 1.0, {asked.data() + d, n_queries, width, 3 * width},
                {fitted.data(), n_fitted, width, 3 * width}, 0.0, common.view());
    const std::vector<double> sums = squares.to_host(), counts = common.to_host();
    side_by_side((n_queries + kTogether - 1) / kTogether, [&](std::int64_t part) {
      const auto begin = static_cast<std::size_t>(part * kTogether);
      for (std::size_t q = begin; q < std::min(count, begin + kTogether); ++q)
        for (std::size_t j = 0; j < d; ++j) {
          const std::size_t cell = receivers[first + q] * d + j;
          if (lacks[cell] && !std::isnan(mean_[j]))
            rows[cell] = static_cast<T>(imputed(sums.data() + q * n, counts.data() + q * n, j));
        }
    });
    ctx.progress("rows", static_cast<std::int64_t>(first + count), static_cast<std::int64_t>(receivers.size()), "rows");
  }
}

template <class T>
Samples<T> KNNImputer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, n_columns());
  ctx.check_stop();
  std::vector<T> rows = host_rows(ctx, X);
  const std::vector<char> lacks = missing_of(rows, missing_cells(ctx, kOwner, params_.missing_values, X));
  impute(ctx, rows, lacks);
  const std::vector<Feature> before = features_of(*X.table);
  std::vector<Feature> features;
  std::vector<std::size_t> kept;
  for (std::size_t j = 0; j < n_columns(); ++j)
    if (!std::isnan(mean_[j]) || params_.keep_empty_features) kept.push_back(j), features.push_back(before[j]);
  std::vector<std::int32_t> marked = params_.add_indicator ? lacking_ : std::vector<std::int32_t>{};
  for (const std::int32_t j : marked)
    features.push_back({.name = "missingindicator_" + before[static_cast<std::size_t>(j)].name});
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(X.n_rows()) * features.size());
  for (std::size_t first = 0; first < rows.size(); first += n_columns()) {
    for (const std::size_t j : kept) out.push_back(std::isnan(mean_[j]) ? T{0} : rows[first + j]);
    for (const std::int32_t j : marked) out.push_back(lacks[first + static_cast<std::size_t>(j)] ? T{1} : T{0});
  }
  Matrix<T> filled(ctx.memory(), X.n_rows(), static_cast<std::int64_t>(features.size()), out);
  return samples_of(std::move(filled), std::move(features));
}

template <class T>
schema::ValueMap KNNImputer<T>::attributes() const {
  const std::vector<double> marked(lacking_.begin(), lacking_.end());
  return {{"indicator_", params_.add_indicator ? Value(schema::ValueMap{{"features_", marked}}) : Value()}};
}

template <class T>
void KNNImputer<T>::state(StateArchive& archive) {
  archive.field("mean", mean_, archive.n_features());
  archive.field("rows", rows_, kAnySize, archive.n_features());
  archive.expect(!rows_.empty(), "rows", "is empty");
  archive.indices("lacking", lacking_, kAnySize, 0, archive.n_features() - 1);
}

template class KNNImputer<float>;
template class KNNImputer<double>;

}   // namespace kedge::engine
