// KBinsDiscretizer: sorted columns from the device, edges on the host, bins on the device.
#include "engine/estimators/preprocessing/k_bins_discretizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "engine/backend/linked_tables.h"
#include "engine/core/legacy_random.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"
#include "engine/estimators/preprocessing/k_bins_edges.h"

namespace kedge::engine {
namespace {

using P = KBinsDiscretizerParams;
constexpr const char* kName = "KBinsDiscretizer";
constexpr double kNarrow = 1e-8;   // bins of this width and less are joined to the next

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kName)
          .any("n_bins", &P::n_bins, {integer_form(at_least(2)), array_form()},
               "Bins of each column, or a list with one number a column.")
          .add("encode", &P::encode, {"onehot", "onehot-dense", "ordinal"}, "A column a bin, or the number of the bin.")
          .add("strategy", &P::strategy, {"uniform", "quantile", "kmeans"}, "Where the edges are.")
          .add("quantile_method", &P::quantile_method, quantile_methods(), "Which quantiles, for strategy quantile.")
          .ignore("dtype", nullptr, {null_form(), string_form({"float32", "float64"})})
          .add("subsample", &P::subsample, at_least(1), "Most rows to find the edges from; null for all.")
          .random_state(&P::random_state);
  return set;
}

// RandomState.choice(n, size, p=weights): where uniform numbers fall among the sums of the weights, or bounded draws without
// weights.
std::vector<std::int64_t> chosen_rows(std::uint32_t seed, std::int64_t n, std::int64_t size, const std::vector<double>& weights) {
  LegacyRandom random(seed);
  std::vector<std::int64_t> rows;
  if (weights.empty()) {
    for (std::int64_t i = 0; i < size; ++i)
      rows.push_back(static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(n - 1))));
    return rows;
  }
  const CumulatedWeights shares(weights);
  for (std::int64_t i = 0; i < size; ++i) rows.push_back(shares.at(random.uniform()));
  return rows;
}

void join_narrow_bins(std::vector<double>& edges) {
  std::vector<double> kept{edges[0]};
  for (std::size_t i = 1; i < edges.size(); ++i)
    if (edges[i] - edges[i - 1] > kNarrow) kept.push_back(edges[i]);
  edges = std::move(kept);
}

// The shares that the edges of n bins are quantiles of.
std::vector<double> shares_of(std::int64_t n_bins) {
  std::vector<double> shares = linspace(0, 100, n_bins + 1);
  for (double& share : shares) share /= 100;
  return shares;
}

bool is_bin_count(double v) { return v >= 2 && v < 0x1p53 && v == std::floor(v); }

}  // namespace

template <class T>
KBinsDiscretizer<T>::KBinsDiscretizer(const schema::ValueMap& params) : params_(param_set().parse(params)) {
  const auto counts = numbers_of(params_.n_bins);
  if (counts && (counts->empty() || !std::ranges::all_of(*counts, is_bin_count)))
    refuse_param(kName, "n_bins", params_.n_bins, "must have integers of at least 2 and below 2^53");
}

template <class T>
schema::EstimatorInfo KBinsDiscretizer<T>::info() {
  return {
      .name = kName,
      .kind = "transformer",
      .family = "preprocessing",
      .doc = "Cut columns into bins.",
      .params = param_set().infos(),
      .attributes = {"bin_edges_", "n_bins_"},
      .deviations = {
          "encode \"onehot\" gives the dense matrix of \"onehot-dense\".",
          "dtype is ignored: the result has the dtype of the job.",
          "With strategy \"kmeans\" a value midway between two centres belongs to the first; in scikit-learn rounding decides."}};
}

template <class T>
double KBinsDiscretizer<T>::Column::at(std::int64_t place) const {
  if (places.empty()) return values[static_cast<std::size_t>(place)];
  return values[static_cast<std::size_t>(std::ranges::lower_bound(places, place) - places.begin())];
}

// The places of sorted columns that edges are made from, ascending: the ends and the quantiles. Empty: all.
template <class T>
std::vector<std::int32_t> KBinsDiscretizer<T>::places_read(const std::vector<Column>& columns) const {
  if (params_.strategy == "kmeans") return {};
  std::set<std::int32_t> places;
  for (const Column& column : columns) {
    places.insert(0), places.insert(static_cast<std::int32_t>(column.n - 1));
    if (params_.strategy == "uniform") continue;
    for (const double share : shares_of(column.n_bins)) {
      const QuantileSpot spot = quantile_spot(params_.quantile_method, column.n, share);
      places.insert(static_cast<std::int32_t>(spot.below)), places.insert(static_cast<std::int32_t>(spot.above));
    }
  }
  return {places.begin(), places.end()};
}

// Sorts the columns on the device and copies to the host what edges are made from.
template <class T>
void KBinsDiscretizer<T>::read_sorted(const Context& ctx, const Samples<T>& X, std::vector<Column>& columns) const {
  Matrix<T> scratch, sorted(ctx.memory(), X.n_cols(), X.n_rows());
  Array<std::int64_t> present(ctx.memory(), X.n_cols());
  ctx.ops<T>().columns->sort_columns(X.values(ctx, scratch), {}, sorted.view(), present.view());
  const std::vector<std::int32_t> places = places_read(columns);
  if (!places.empty()) {
    const Array<std::int32_t> taken(ctx.memory(), std::span<const std::int32_t>(places));
    Matrix<T> some(ctx.memory(), X.n_cols(), taken.size());
    ctx.ops<T>().categories->take_columns(std::as_const(sorted).view(), {}, taken.view(), some.view());
    sorted = std::move(some);
  }
  const std::vector<T> numbers = sorted.to_host();
  const auto width = static_cast<std::ptrdiff_t>(sorted.cols());
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(j) * width;
    columns[j].values.assign(first, first + width);
    columns[j].places = places;
  }
}

template <class T>
std::vector<typename KBinsDiscretizer<T>::Column> KBinsDiscretizer<T>::columns(const Context& ctx, const Samples<T>& X,
                                                                               const std::vector<double>& weights) const {
  const auto counts = numbers_of(params_.n_bins);
  require(!counts || static_cast<std::int64_t>(counts->size()) == X.n_cols(), schema::ErrorCode::kInvalidValue,
          "{}: n_bins has {} numbers, must have one for each of the {} columns", kName, counts ? counts->size() : 0, X.n_cols());
  std::vector<Column> result(static_cast<std::size_t>(X.n_cols()));
  for (std::size_t j = 0; j < result.size(); ++j) {
    result[j].n_bins = counts ? static_cast<std::int64_t>((*counts)[j]) : std::get<std::int64_t>(params_.n_bins.data);
    result[j].n = X.n_rows();
  }
  if (weights.empty()) {
    read_sorted(ctx, X, result);
    return result;
  }
  const std::vector<T> numbers = host_rows(ctx, X);
  const auto n = static_cast<std::size_t>(X.n_rows());
  for (std::size_t j = 0; j < result.size(); ++j) {
    Column& column = result[j];
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return weights[i] == 0; });
    const auto value = [&](std::size_t i) { return static_cast<double>(numbers[i * result.size() + j]); };
    std::ranges::stable_sort(order, {}, value);
    for (const std::size_t i : order) column.values.push_back(value(i)), column.weights.push_back(weights[i]);
  }
  return result;
}

template <class T>
std::vector<double> KBinsDiscretizer<T>::quantile_edges(const Column& column) const {
  std::vector<double> edges;
  const std::vector<double> q = shares_of(column.n_bins);
  if (!column.weights.empty())
    return weighted_quantiles(column.values, column.weights, q, params_.quantile_method == "averaged_inverted_cdf");
  for (const double share : q) {
    const QuantileSpot spot = quantile_spot(params_.quantile_method, column.n, share);
    edges.push_back(quantile_at(spot, column.at(spot.below), column.at(spot.above)));
  }
  return edges;
}

template <class T>
std::vector<double> KBinsDiscretizer<T>::edges_of(const Column& column) const {
  const double low = column.values.front(), high = column.values.back();
  if (low == high) return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  std::vector<double> edges = linspace(low, high, column.n_bins + 1);
  if (params_.strategy == "uniform") return edges;
  if (params_.strategy == "quantile") {
    edges = quantile_edges(column);
  } else {
    std::vector<double> centres;
    for (std::size_t i = 1; i < edges.size(); ++i) centres.push_back((edges[i] + edges[i - 1]) * 0.5);
    centres = one_dimensional_means(column.values, column.weights, std::move(centres));
    edges.assign(1, low);
    for (std::size_t i = 1; i < centres.size(); ++i) edges.push_back((centres[i] + centres[i - 1]) * 0.5);
    edges.push_back(high);
  }
  join_narrow_bins(edges);
  return edges;
}

template <class T>
void KBinsDiscretizer<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kName, X);
  ctx.check_stop();
  const std::string& method = params_.quantile_method;
  require(y.weights.empty() || params_.strategy != "quantile" || method == "inverted_cdf" || method == "averaged_inverted_cdf",
          schema::ErrorCode::kInvalidValue,
          "{}: quantile_method is \"{}\", must be \"inverted_cdf\" or \"averaged_inverted_cdf\" with sample weights", kName,
          method);
  const bool samples = params_.subsample && *params_.subsample < X.n_rows();
  const auto seed = static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed)));
  const auto used = samples
                        ? columns(ctx, selected_rows(ctx, X, chosen_rows(seed, X.n_rows(), *params_.subsample, y.weights)), {})
                        : columns(ctx, X, y.weights);
  edges_.clear();
  for (std::size_t j = 0; j < used.size(); ++j) {
    require(!used[j].values.empty(), schema::ErrorCode::kBadData, "{}: all sample weights are 0", kName);
    edges_.push_back(edges_of(used[j]));
    const auto label = X.table->column_label(static_cast<std::int64_t>(j));
    if (used[j].values.front() == used[j].values.back())
      ctx.warn("KBinsDiscretizer: column " + label + " is constant; it gets one bin");
    else if (static_cast<std::int64_t>(edges_[j].size()) <= used[j].n_bins)
      ctx.warn("KBinsDiscretizer: column " + label + " has bins narrower than 1e-8, which are joined");
  }
}

template <class T>
Samples<T> KBinsDiscretizer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kName, X, edges_.size());
  ctx.check_stop();
  std::vector<double> inner;
  std::vector<std::int32_t> first_edge{0}, first_out{0};
  for (const auto& edges : edges_) {
    if (edges.size() > 2) inner.insert(inner.end(), edges.begin() + 1, edges.end() - 1);
    first_edge.push_back(static_cast<std::int32_t>(inner.size()));
    first_out.push_back(first_out.back() + std::max(1, static_cast<std::int32_t>(edges.size()) - 1));
  }
  const bool ordinal = params_.encode == "ordinal";
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, X.n_rows(), ordinal ? X.n_cols() : first_out.back());
  const Array<double> edges(ctx.memory(), std::span<const double>(inner));
  const Array<std::int32_t> firsts(ctx.memory(), std::span<const std::int32_t>(first_edge)),
      outs(ctx.memory(), std::span<const std::int32_t>(first_out));
  ctx.ops<T>().maps->bin_columns(X.values(ctx, scratch), edges.view(), firsts.view(),
                                 ordinal ? VectorView<const std::int32_t>() : outs.view(), out.view());
  return samples_of(std::move(out));
}

template <class T>
schema::ValueMap KBinsDiscretizer<T>::attributes() const {
  schema::ValueList edges, counts;
  for (const auto& column : edges_) edges.emplace_back(column), counts.emplace_back(static_cast<std::int64_t>(column.size()) - 1);
  return {{"bin_edges_", edges}, {"n_bins_", counts}};
}

template <class T>
void KBinsDiscretizer<T>::state(StateArchive& archive) {
  archive.list("edges", edges_, [&](std::vector<double>& edges) { archive.field("column", edges, kAnySize); });
  archive.expect(static_cast<std::int64_t>(edges_.size()) == archive.n_features(), "edges", "is not of as many columns as were fitted");
}

template class KBinsDiscretizer<float>;
template class KBinsDiscretizer<double>;

}  // namespace kedge::engine
