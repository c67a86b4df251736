// KNNImputer: distances by products, and means of the nearest that have a value.
#include "engine/estimators/preprocessing/knn_imputer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
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
constexpr std::size_t kCells = std::size_t{1} << 22;     // distances that are held together: 32 MB
constexpr std::int64_t kTogether = 16;                   // rows that one thread takes
// The tiles in which LinearOps::gemm() makes a large product on the CPU, and the longest sums that it does not cut.
constexpr std::size_t kTileRows = 256, kTileCols = 512, kFewestTiles = 4, kLongestSum = 2048;
constexpr std::size_t kPartsAtOnce = 32;   // tiles of rows between two reports of progress

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

// The fitted rows as products and counts read them on host memory.
template <class T>
struct KNNImputer<T>::Fitted {
  std::vector<double> expanded;
  ColumnMasks masks;
};

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
  MemoryNeed need = memory::makes(
      X, 2 * X.cols, 14 * memory::doubles(X) + (X.on_host ? 2 : 5) * std::int64_t{kCells} * memory::kDouble);
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

// From the nearest fitted rows that have a value in this column.
template <class T>
double KNNImputer<T>::imputed(const std::vector<NearestDonors::Donor>& nearest, std::size_t column) const {
  if (nearest.empty()) return mean_[column];
  const bool has_same = std::ranges::any_of(nearest, [](const auto& one) { return one.first == 0; });
  double sum = 0, total = 0;
  for (const auto& [distance, i] : nearest) {
    const double weight = params_.weights == "uniform" ? 1.0
                          : has_same                   ? (distance == 0 ? 1.0 : 0.0)
                                                       : 1 / std::sqrt(distance);
    sum += weight * rows_[i * n_columns() + column], total += weight;
  }
  return sum / total;
}

// The rows that lack a value which the fitted rows have, and where these values go.
template <class T>
struct KNNImputer<T>::Receivers {
  std::vector<T>& rows;
  const std::vector<char>& lacks;
  std::vector<std::size_t> places;   // of the rows

  // Those from `first` on, as doubles; NaN where missing.
  std::vector<double> values(std::size_t first, std::size_t count, std::size_t d) const {
    std::vector<double> made(count * d, kNan);
    for (std::size_t e = 0; e < made.size(); ++e) {
      const std::size_t cell = places[first + e / d] * d + e % d;
      if (!lacks[cell]) made[e] = static_cast<double>(rows[cell]);
    }
    return made;
  }
};

template <class T>
std::vector<std::size_t> KNNImputer<T>::missing_columns(const Receivers& receivers, std::size_t place) const {
  std::vector<std::size_t> columns;
  for (std::size_t j = 0; j < n_columns(); ++j)
    if (receivers.lacks[place * n_columns() + j] && !std::isnan(mean_[j])) columns.push_back(j);
  return columns;
}

template <class T>
void KNNImputer<T>::put(NearestDonors& donors, Receivers& receivers, std::size_t place) const {
  for (std::size_t c = 0; c < donors.columns().size(); ++c) {
    const std::size_t j = donors.columns()[c];
    receivers.rows[place * n_columns() + j] = static_cast<T>(imputed(donors.nearest(c), j));
  }
}

// On host memory a thread multiplies a tile of rows with a tile of fitted ones and looks at these distances at once.
// The tiles are those of one product of all, so that distances round alike: between equal ones rounding decides.
template <class T>
void KNNImputer<T>::impute_here(const Context& ctx, Receivers& receivers, std::size_t begin, std::size_t end,
                                const Fitted& fitted) const {
  const std::size_t d = n_columns(), n = rows_.size() / d, count = end - begin;
  const std::vector<double> own = receivers.values(begin, count, d), asked = expanded(own, mean_, true);
  const ColumnMasks masks(own, d);
  std::vector<NearestDonors> donors(count, NearestDonors(rows_, d, static_cast<std::size_t>(params_.n_neighbors)));
  for (std::size_t q = 0; q < count; ++q) donors[q].start(missing_columns(receivers, receivers.places[begin + q]));
  std::vector<double> squares(count * 2 * kTileCols), counts(2 * kTileCols);
  const auto rows_of = [&](const double* data, std::size_t rows) {
    return MatrixView<const double>(data, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(3 * d));
  };
  for (std::size_t first = 0, width = 0; first < n; first += width) {   // the last tile and what is left of one
    width = n - first < 2 * kTileCols ? n - first : kTileCols;
    const MatrixView<double> products(squares.data(), static_cast<std::int64_t>(count),
                                      static_cast<std::int64_t>(width));
    ctx.ops<double>().linear->gemm(Transpose::kNo, Transpose::kYes, 1.0, rows_of(asked.data(), count),
                                   rows_of(fitted.expanded.data() + first * 3 * d, width), 0.0, products);
    for (std::size_t q = 0; q < count; ++q) {
      fitted.masks.common(masks, q, first, width, counts.data());
      donors[q].meet(first, squares.data() + q * width, counts.data(), width);
    }
  }
  for (std::size_t q = 0; q < count; ++q) put(donors[q], receivers, receivers.places[begin + q]);
}

// Elsewhere, and of few rows, two products of many rows with all fitted ones.
template <class T>
void KNNImputer<T>::impute_there(const Context& ctx, Receivers& receivers, std::size_t first, std::size_t count,
                                 const Matrix<double>& fitted) const {
  const std::size_t d = n_columns(), n = rows_.size() / d;
  const auto width = static_cast<std::int64_t>(d), n_fitted = static_cast<std::int64_t>(n),
             n_queries = static_cast<std::int64_t>(count);
  const Matrix<double> asked(ctx.memory(), n_queries, 3 * width,
                             expanded(receivers.values(first, count, d), mean_, true));
  Matrix<double> squares(ctx.memory(), n_queries, n_fitted), common(ctx.memory(), n_queries, n_fitted);
  LinearOps<double>& linear = *ctx.ops<double>().linear;
  linear.gemm(Transpose::kNo, Transpose::kYes, 1.0, asked.view(), fitted.view(), 0.0, squares.view());
  linear.gemm(Transpose::kNo, Transpose::kYes, 1.0, {asked.data() + width, n_queries, width, 3 * width},
              {fitted.data(), n_fitted, width, 3 * width}, 0.0, common.view());
  const std::vector<double> sums = squares.to_host(), counts = common.to_host();
  side_by_side((n_queries + kTogether - 1) / kTogether, [&](std::int64_t part) {
    const auto begin = static_cast<std::size_t>(part * kTogether);
    NearestDonors donors(rows_, d, static_cast<std::size_t>(params_.n_neighbors));
    for (std::size_t q = begin; q < std::min(count, begin + kTogether); ++q) {
      donors.start(missing_columns(receivers, receivers.places[first + q]));
      donors.meet(0, sums.data() + q * n, counts.data() + q * n, n);
      put(donors, receivers, receivers.places[first + q]);
    }
  });
}

template <class T>
void KNNImputer<T>::impute(const Context& ctx, std::vector<T>& rows, const std::vector<char>& lacks) const {
  const std::size_t d = n_columns();
  Receivers receivers{rows, lacks, {}};
  for (std::size_t i = 0; i < rows.size() / d; ++i)
    if (!missing_columns(receivers, i).empty()) receivers.places.push_back(i);
  if (receivers.places.empty()) return;
  const std::size_t n = receivers.places.size(), n_fitted = rows_.size() / d,
                    step = std::clamp<std::size_t>(kCells / n_fitted, 16, 4096);
  const Fitted host{expanded(rows_, mean_, false), ColumnMasks(rows_, d)};
  const bool is_host = ctx.device.traits().uses_host_memory && n_fitted >= kTileCols && 3 * d <= kLongestSum;
  std::vector<std::pair<std::size_t, std::size_t>> parts;   // of the rows, for the threads
  std::optional<Matrix<double>> fitted;
  for (std::size_t first = 0; first < n; first += step) {
    ctx.check_stop();
    const std::size_t end = std::min(n, first + step), tiles = (end - first + kTileRows - 1) / kTileRows;
    if (is_host && tiles * ((n_fitted + kTileCols - 1) / kTileCols) >= kFewestTiles) {
      for (std::size_t i = first; i < end; i += kTileRows) parts.emplace_back(i, std::min(end, i + kTileRows));
      if (parts.size() < kPartsAtOnce && end < n) continue;
    } else {
      if (!fitted)
        fitted.emplace(ctx.memory(), static_cast<std::int64_t>(n_fitted), 3 * static_cast<std::int64_t>(d),
                       host.expanded);
      impute_there(ctx, receivers, first, end - first, *fitted);
    }
    side_by_side(std::ssize(parts), [&](std::int64_t part) {
      const auto [begin, part_end] = parts[static_cast<std::size_t>(part)];
      impute_here(ctx, receivers, begin, part_end, host);
    });
    parts.clear();
    ctx.progress("rows", static_cast<std::int64_t>(end), static_cast<std::int64_t>(n), "rows");
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
