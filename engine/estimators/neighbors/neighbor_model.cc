// Fitted points of the neighbour estimators, and searches in batches of queries.
#include "engine/estimators/neighbors/neighbor_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/core/fold_parts.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/own_values.h"

namespace kedge::engine {
namespace {

constexpr double kBatchOperations = 8e10;            // multiply-adds between two looks at the stop token: well below a second
constexpr std::int64_t kMostAnswers = 1 << 24;       // of a batch, or of what a search shares, in memory at once

constexpr std::int64_t kZeroColumns = 2;

// Rows of length 1, followed by two columns that are 0 except for rows of zeros, so that those are at cosine distance 1
// from all others: half the squared Euclidean distance of two such rows is 1 - cosine, and exactly 0 for equal ones.
template <class T>
void make_unit(const T* row, std::int64_t d, int zero_column, T* unit) {
  double largest = 0, sum = 0;   // scaled: neither overflow nor underflow
  for (std::int64_t j = 0; j < d; ++j) largest = std::max(largest, std::abs(static_cast<double>(row[j])));
  for (std::int64_t j = 0; largest > 0 && j < d; ++j) {
    const double share = static_cast<double>(row[j]) / largest;
    sum += share * share;
  }
  std::fill_n(unit, d + kZeroColumns, T{0});
  for (std::int64_t j = 0; largest > 0 && j < d; ++j)
    unit[j] = static_cast<T>(static_cast<double>(row[j]) / largest / std::sqrt(sum));
  if (largest == 0) unit[d + zero_column] = T{1};
}

template <class T>
Matrix<T> unit_rows(const Context& ctx, MatrixView<const T> X, int zero_column) {
  std::vector<T> rows(static_cast<std::size_t>(X.rows * X.stride)),
      units(static_cast<std::size_t>(X.rows * (X.cols + kZeroColumns)));
  if (X.rows > 0) ctx.memory().to_host(rows.data(), X.data, (rows.size() - static_cast<std::size_t>(X.stride - X.cols)) * sizeof(T));
  for (std::int64_t i = 0; i < X.rows; ++i)
    make_unit(rows.data() + i * X.stride, X.cols, zero_column, units.data() + i * (X.cols + kZeroColumns));
  return Matrix<T>(ctx.memory(), X.rows, X.cols + kZeroColumns, units);
}

// The points of rows of which a rank has its own: of these alone.
template <class T>
Samples<T> own_points(const Context& ctx, const Samples<T>& X, bool is_cosine) {
  const std::int64_t d = X.n_cols(), cols = is_cosine ? d + kZeroColumns : d;
  return made_rows<T>(ctx, X, std::vector<Feature>(static_cast<std::size_t>(cols)),
                      [d, is_cosine](const T* cells, T* out) {
                        if (is_cosine) make_unit(cells, d, 0, out);
                        else std::copy_n(cells, d, out);
                      });
}

}  // namespace

std::vector<schema::ParamForm> neighbor_weight_forms() { return {string_form({"uniform", "distance"}), null_form()}; }

void check_neighbor_params(std::string_view owner, const NeighborParams& params) {
  const bool is_tree = params.algorithm == "kd_tree" || params.algorithm == "ball_tree";
  if (is_tree && params.metric == "cosine") refuse_param(owner, "algorithm", params.algorithm, "does not know metric=\"cosine\"; use \"brute\" or \"auto\"");
  if (is_tree && params.metric == "minkowski" && params.p.value_or(2) < 1)
    refuse_param(owner, "algorithm", params.algorithm, "does not know p < 1; use \"brute\" or \"auto\"");
}

NeighborMetric::NeighborMetric(const NeighborParams& params) : is_cosine(params.metric == "cosine"), effective(params.metric) {
  const double p = params.p.value_or(2);
  if (effective == "minkowski" && (p == 1 || p == 2)) effective = p == 1 ? "manhattan" : "euclidean";
  if (effective == "manhattan" || effective == "l1" || effective == "cityblock") distance.metric = Metric::kManhattan;
  if (effective == "chebyshev" || effective == "infinity") distance.metric = Metric::kChebyshev;
  if (effective == "minkowski") distance = {Metric::kMinkowski, p}, power = p;
}

std::string NeighborMetric::work_key(const std::string& content) const {
  return fmt::format("{} {} {} {}", content, static_cast<int>(distance.metric), distance.power, is_cosine);
}

template <class T>
void NeighborModel<T>::announce(WorkCache& plan, const std::string& content, const NeighborParams& params, std::int64_t k) {
  plan.want(NeighborMetric(params).work_key(content), static_cast<double>(k));
}

template <class T>
typename NeighborModel<T>::Points NeighborModel<T>::index_points(const Context& ctx, const Samples<T>& X) const {
  Points points{X, nullptr};
  const bool is_table = !metric_.is_cosine && !X.rows && !X.is_affine();
  if (!is_table && has_own_rows(ctx, X)) {
    points.rows = own_points(ctx, X, metric_.is_cosine);
  } else if (!is_table) {
    Matrix<T> scratch;
    const MatrixView<const T> values = X.values(ctx, scratch);
    points.rows = samples_of(metric_.is_cosine ? unit_rows(ctx, values, 0) : std::move(scratch));
  }
  ctx.check_stop();
  points.index = ctx.ops<T>().distances->index_points(std::as_const(points.rows.table->X).view(), metric_.distance);
  return points;
}

template <class T>
void NeighborModel<T>::fit(const Context& ctx, const Samples<T>& X, const NeighborParams& params) {
  metric_ = NeighborMetric(params);
  n_rows_ = X.n_rows(), n_cols_ = X.n_cols();
  points_.reset();
  work_key_ = ctx.work && !X.content.empty() ? metric_.work_key(X.content) : "";
  origin_ = X;
  if (!ctx.work || !fold_parts(*ctx.work)) points(ctx), origin_.reset();
}

// Folds that share their lists need no points of their own.
template <class T>
typename NeighborModel<T>::Points& NeighborModel<T>::points(const Context& ctx) const {
  if (!points_) {
    const auto make = [&] { return index_points(ctx, *origin_); };
    points_ = work_key_.empty() ? std::make_shared<Points>(make()) : ctx.work->get<Points>("points", work_key_, make);
  }
  return *points_;
}

// The points are stored and indexed again: what is quick to make is not worth its room, and depends on the device.
template <class T>
void NeighborModel<T>::state(StateArchive& archive, const NeighborParams& params) {
  archive.number("n_rows", n_rows_, 1, kMaxSize);
  archive.features(n_cols_);
  metric_ = NeighborMetric(params);
  Matrix<T> loaded;
  Matrix<T>& points = archive.is_loading() ? loaded : points_->rows.table->X;
  archive.field("points", points, n_rows_, metric_.is_cosine ? n_cols_ + kZeroColumns : n_cols_);
  if (!archive.is_loading()) return;
  work_key_.clear();
  points_ = std::make_shared<Points>(Points{samples_of(std::move(loaded)), nullptr});
  points_->index = archive.ctx().template ops<T>().distances->index_points(std::as_const(points_->rows.table->X).view(),
                                                                           metric_.distance);
}

template <class T>
MatrixView<const T> NeighborModel<T>::batch(const Context& ctx, const Samples<T>& X, std::int64_t first, std::int64_t count, Matrix<T>& scratch) const {
  const MatrixView<const T> values = X.values(ctx, first, count, scratch);
  if (!metric_.is_cosine) return values;
  scratch = unit_rows(ctx, values, 1);
  return std::as_const(scratch).view();
}

template <class T>
double NeighborModel<T>::limit_of(double radius) const { return metric_.is_cosine ? 2 * radius : metric_.distance.reduced(radius); }

template <class T>
double NeighborModel<T>::restored(T reduced) const {
  return metric_.is_cosine ? static_cast<double>(reduced) / 2 : metric_.distance.restored(static_cast<double>(reduced));
}

template <class T>
void NeighborModel<T>::nearest(const Context& ctx, std::string_view owner, const Samples<T>& queries, std::int64_t k, const TakeNearest& take) const {
  require(is_fitted(), schema::ErrorCode::kInternal, "{}: predict before fit", owner);
  require_fitted_columns(std::string(owner).c_str(), queries, static_cast<std::size_t>(n_cols_));
  require(k <= n_rows_, schema::ErrorCode::kBadData, "{}: n_neighbors is {}, but there are only {} training rows", owner, k, n_rows_);
  const std::int64_t most = shared_k(ctx, queries, k);
  if (most > 0) return take_shared(ctx, owner, queries, most, k, take);
  search(ctx, owner, queries, k, take);
}

template <class T>
typename NeighborModel<T>::DeviceLists NeighborModel<T>::device_lists(const Context& ctx, std::string_view owner,
                                                                      const Samples<T>& queries, std::int64_t k) const {
  const std::int64_t n = queries.n_rows();
  require(k <= n_rows_, schema::ErrorCode::kBadData, "{}: n_neighbors is {}, but there are only {} training rows",
          owner, k, n_rows_);
  DeviceLists lists{Matrix<std::int32_t>(ctx.memory(), n, k), Matrix<T>(ctx.memory(), n, k)};
  const double per_query = static_cast<double>(n_rows_) * static_cast<double>(n_cols_);
  const auto rows = static_cast<std::int64_t>(std::clamp(kBatchOperations / per_query, 64.0, 1048576.0));
  Matrix<T> scratch;
  for (std::int64_t first = 0; first < n; first += rows) {
    ctx.check_stop();
    const std::int64_t count = std::min(rows, n - first);
    points(ctx).index->nearest(batch(ctx, queries, first, count, scratch), static_cast<int>(k),
                               lists.indices.view().row_range(first, count),
                               lists.distances.view().row_range(first, count));
    ctx.progress("queries", first + count, n, "rows");
  }
  const MatrixView<const T> found = std::as_const(lists.distances).view();
  require(!ctx.ops<T>().tables->find_nonfinite(found), schema::ErrorCode::kBadData,
          "{}: the distances of a row are too large to compare", owner);
  MapOps<T>& maps = *ctx.ops<T>().maps;
  if (metric_.is_cosine) {
    const Matrix<T> half(ctx.memory(), 1, 1, std::vector<T>{T{0.5}});
    maps.combine(Binary::kMultiply, found, half.view(), lists.distances.view());
  } else if (metric_.distance.metric == Metric::kEuclidean) {
    maps.map(Unary::kSqrt, 1, found, lists.distances.view());
  } else if (metric_.distance.metric ==
             Metric::kMinkowski) {   // the root by logarithms: that of 0 is -infinity, and 0 again
    maps.map(Unary::kLog, 1, found, lists.distances.view());
    maps.map(Unary::kExp, 1 / metric_.distance.power, found, lists.distances.view());
  }
  return lists;
}

template <class T>
void NeighborModel<T>::search(const Context& ctx, std::string_view owner, const Samples<T>& queries, std::int64_t k, const TakeNearest& take) const {
  const double per_query = static_cast<double>(n_rows_) * static_cast<double>(n_cols_);
  const auto rows = static_cast<std::int64_t>(std::clamp(std::min(kBatchOperations / per_query, static_cast<double>(kMostAnswers / k)), 64.0, 1048576.0));
  Matrix<T> scratch;
  std::vector<double> distances;
  for (std::int64_t first = 0; first < queries.n_rows(); first += rows) {
    ctx.check_stop();
    const std::int64_t count = std::min(rows, queries.n_rows() - first);
    Matrix<std::int32_t> indices(ctx.memory(), count, k);
    Matrix<T> reduced(ctx.memory(), count, k);
    points(ctx).index->nearest(batch(ctx, queries, first, count, scratch), static_cast<int>(k), indices.view(), reduced.view());
    distances.clear();
    for (const T value : reduced.to_host()) distances.push_back(restored(value));
    const std::vector<std::int32_t> found = indices.to_host();
    for (const std::int32_t index : found) {   // distances that overflow compare with nothing
      require(index >= 0 && index < n_rows_, schema::ErrorCode::kBadData, "{}: the distances of a row are too large to compare", owner);
    }
    const auto of_query = static_cast<std::size_t>(k);
    take({.first = first, .count = count, .k = of_query, .stride = of_query, .indices = found.data(), .distances = distances.data()});
    ctx.progress("queries", first + count, queries.n_rows(), "rows");
  }
}

// The largest number of neighbours that a candidate which can be fitted wants; 0: no lists are shared, or they would be
// too large to keep.
template <class T>
std::int64_t NeighborModel<T>::shared_k(const Context& ctx, const Samples<T>& queries, std::int64_t k) const {
  if (!ctx.work || work_key_.empty() || queries.content.empty()) return 0;
  std::int64_t most = k;
  for (const double wanted : ctx.work->wanted(work_key_))
    if (wanted <= static_cast<double>(n_rows_)) most = std::max(most, static_cast<std::int64_t>(wanted));
  return queries.n_rows() * most <= kMostAnswers ? most : 0;
}

template <class T>
std::string NeighborModel<T>::lists_name(const Samples<T>& queries, std::int64_t most) const {
  return fmt::format("{} of {}, {}", work_key_, queries.content, most);
}

template <class T>
std::string NeighborModel<T>::shared_lists(const Context& ctx, const Samples<T>& queries, std::int64_t k) const {
  const std::int64_t most = shared_k(ctx, queries, k);
  return most > 0 ? lists_name(queries, most) : "";
}

// For each row of the table its nearest among the rows that its fold trains on, as row numbers; null where the device does not do that.
template <class T>
const typename NeighborModel<T>::Lists* NeighborModel<T>::lists_of_folds(const Context& ctx, FoldParts& folds, std::int64_t most) const {
  const auto n = static_cast<std::int64_t>(folds.fold_of_row.size());
  const auto made = folds.work.get<FoldLists>("neighbours of folds", fmt::format("{} {}", static_cast<const void*>(origin_->table.get()), most), [&] {
    FoldLists all{.table = origin_->table};
    Matrix<std::int32_t> indices(ctx.memory(), n, most);
    Matrix<T> squared(ctx.memory(), n, most);
    if (!ctx.ops<T>().neighbours->nearest_of_others(
            std::as_const(all.table->X).view(), folds.fold_of_row, static_cast<int>(most), [&] { ctx.check_stop(); },
            indices.view(), squared.view()))
      return all;
    all.lists = {.k = most, .indices = indices.to_host()};
    for (const T value : squared.to_host()) all.lists.distances.push_back(restored(value));
    return all;
  });
  return made->lists.k > 0 ? &made->lists : nullptr;   // kept by the cache
}

// Whether the queries are the plain rows that this fold tests, the points all others, and every fold has `most` of these.
template <class T>
bool NeighborModel<T>::is_of_folds(const Context& ctx, const FoldParts* folds, const Samples<T>& queries, std::int64_t most) const {
  if (!folds || !origin_ || metric_.is_cosine || metric_.distance.metric != Metric::kEuclidean) return false;
  if (!queries.rows || !origin_->rows || queries.is_affine() || origin_->is_affine() || queries.table != origin_->table) return false;
  const std::vector<std::int32_t>& fold_of_row = folds->fold_of_row;
  const auto n = static_cast<std::int64_t>(fold_of_row.size());
  if (queries.is_sparse() || queries.table->n_rows() != n || n * most > kMostAnswers) return false;
  std::vector<std::int32_t> tested, trained;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(*std::ranges::max_element(fold_of_row) + 1));
  for (std::size_t i = 0; i < fold_of_row.size(); ++i) {
    (fold_of_row[i] == ctx.fold ? tested : trained).push_back(static_cast<std::int32_t>(i));
    ++sizes[static_cast<std::size_t>(fold_of_row[i])];
  }
  return n - *std::ranges::max_element(sizes) >= most && queries.rows->to_host() == tested && origin_->rows->to_host() == trained;
}

// The lists of all queries: those of this fold in a search for all of them, otherwise from a search of its own.
template <class T>
typename NeighborModel<T>::Lists NeighborModel<T>::make_lists(const Context& ctx, std::string_view owner, const Samples<T>& queries,
                                                              std::int64_t most) const {
  Lists lists{.k = most};
  FoldParts* const folds = fold_parts(*ctx.work);
  const Lists* const all = is_of_folds(ctx, folds, queries, most) ? lists_of_folds(ctx, *folds, most) : nullptr;
  if (!all) {
    search(ctx, owner, queries, most, [&](const NearestLists& found) {
      lists.indices.insert(lists.indices.end(), found.indices, found.indices + found.count * most);
      lists.distances.insert(lists.distances.end(), found.distances, found.distances + found.count * most);
    });
    return lists;
  }
  const std::vector<std::int32_t>& fold_of_row = folds->fold_of_row;
  std::vector<std::int32_t> points;   // of each row, how many rows of other folds come before it
  for (std::int32_t next = 0; const std::int32_t fold : fold_of_row) points.push_back(next), next += fold != ctx.fold;
  for (std::size_t i = 0; i < fold_of_row.size(); ++i) {
    if (fold_of_row[i] != ctx.fold) continue;
    const auto first = static_cast<std::ptrdiff_t>(i) * most;
    std::transform(all->indices.begin() + first, all->indices.begin() + first + most, std::back_inserter(lists.indices),
                   [&](std::int32_t row) { return points[static_cast<std::size_t>(row)]; });
    lists.distances.insert(lists.distances.end(), all->distances.begin() + first, all->distances.begin() + first + most);
  }
  return lists;
}

// The k nearest are the first of the `most` nearest, ties included.
template <class T>
void NeighborModel<T>::take_shared(const Context& ctx, std::string_view owner, const Samples<T>& queries, std::int64_t most, std::int64_t k,
                   const TakeNearest& take) const {
  const auto lists = ctx.work->get<Lists>("neighbours", lists_name(queries, most), [&] { return make_lists(ctx, owner, queries, most); });
  take({.count = queries.n_rows(),
        .k = static_cast<std::size_t>(k),
        .stride = static_cast<std::size_t>(lists->k),
        .indices = lists->indices.data(),
        .distances = lists->distances.data()});
}

template <class T>
void NeighborModel<T>::within(const Context& ctx, std::string_view owner, const Samples<T>& queries, double radius, const TakeWithin& take) const {
  require(is_fitted(), schema::ErrorCode::kInternal, "{}: predict before fit", owner);
  require_fitted_columns(std::string(owner).c_str(), queries, static_cast<std::size_t>(n_cols_));
  constexpr std::int64_t kRows = 4096;
  const double limit = limit_of(radius);
  Matrix<T> scratch;
  for (std::int64_t first = 0; first < queries.n_rows(); first += kRows) {
    ctx.check_stop();
    const MatrixView<const T> rows = batch(ctx, queries, first, std::min(kRows, queries.n_rows() - first), scratch);
    Array<std::int32_t> counted(ctx.memory(), rows.rows);
    points(ctx).index->count_within(rows, limit, counted.view());
    const std::vector<std::int32_t> counts = counted.to_host();
    for (std::int64_t begin = 0, end = 0; begin < rows.rows; begin = end) {
      std::vector<std::int64_t> offsets;
      std::int64_t total = 0;
      for (; end < rows.rows && (end == begin || total + counts[static_cast<std::size_t>(end)] <= kMostAnswers); ++end)
        offsets.push_back(total), total += counts[static_cast<std::size_t>(end)];
      const Array<std::int64_t> places(ctx.memory(), std::span<const std::int64_t>(offsets));
      Array<std::int32_t> indices(ctx.memory(), total);
      Array<T> reduced(ctx.memory(), total);
      points(ctx).index->list_within(rows.row_range(begin, end - begin), limit, places.view(), indices.view(), reduced.view());
      const std::vector<std::int32_t> found = indices.to_host();
      std::vector<double> distances;
      for (const T value : reduced.to_host()) distances.push_back(restored(value));
      for (std::int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<std::size_t>(offsets[static_cast<std::size_t>(i - begin)]), size = static_cast<std::size_t>(counts[static_cast<std::size_t>(i)]);
        take(first + i, std::span(found).subspan(at, size), std::span<const double>(distances).subspan(at, size));
      }
    }
  }
}

template <class T>
void NeighborModel<T>::components(const Context& ctx, double radius, double least, VectorView<const double> weights, VectorView<std::uint8_t> core,
                                  VectorView<std::int32_t> component) const {
  points(ctx).index->density_components(limit_of(radius), least, weights, core, component);
}

template <class T>
schema::ValueMap NeighborModel<T>::attributes() const {
  schema::ValueMap params;
  if (metric_.power) params = {{"p", *metric_.power}, {"w", nullptr}};
  return {{"effective_metric_", metric_.effective},
          {"effective_metric_params_", std::move(params)},
          {"n_samples_fit_", n_rows_}};
}

template <class T>
std::vector<std::string> NeighborModel<T>::attribute_names() {
  return {"effective_metric_", "effective_metric_params_", "n_samples_fit_"};
}

Squares squares_of(const NeighborParams& params) {
  const Metric metric = NeighborMetric(params).distance.metric;
  return metric == Metric::kManhattan || metric == Metric::kChebyshev ? Squares::kNone : Squares::kRows;
}

void neighbor_weights(std::span<const double> distances, bool by_distance, std::vector<double>& weights) {
  weights.assign(distances.size(), 1.0);
  if (!by_distance) return;
  const bool exact = std::find(distances.begin(), distances.end(), 0.0) != distances.end();
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = exact ? (distances[i] == 0 ? 1.0 : 0.0) : 1.0 / distances[i];
}

template class NeighborModel<float>;
template class NeighborModel<double>;

}  // namespace kedge::engine
