// Starting centres for k-means, and nearest centres for new rows.
#include "engine/estimators/cluster/cluster_centers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/comm/dealt_blocks.h"
#include "engine/core/require.h"
#include "engine/estimators/dealt_sums.h"

namespace kedge::engine {
namespace {

constexpr double kBatchValues = 1e8;   // values of X between two looks at the stop token

using Rows = std::vector<std::vector<double>>;

// The given centres, row by row; nothing if init is a name.
std::optional<Rows> center_rows(const schema::Value& init) {
  const auto* list = std::get_if<schema::ValueList>(&init.data);
  if (!list) return std::nullopt;
  Rows rows;
  for (const schema::Value& item : *list) rows.push_back(numbers_of(item).value());
  return rows;
}

template <class T>
std::vector<T> row_at(const Context& ctx, MatrixView<const T> X, std::int64_t i) {
  std::vector<T> row(static_cast<std::size_t>(X.cols));
  ctx.memory().to_host(row.data(), X.data + i * X.stride, row.size() * sizeof(T));
  return row;
}

std::vector<double> shares_of(std::span<const double> weights, std::int64_t n) {
  std::vector<double> shares(static_cast<std::size_t>(n), 1.0);
  std::copy(weights.begin(), weights.end(), shares.begin());
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= total;
  return shares;
}

template <class T>
std::vector<T> given_centers(std::string_view owner, const schema::Value& init, const std::vector<double>& shift, std::int64_t cols) {
  std::vector<T> centers;
  const Rows rows = center_rows(init).value();   // named: C++20 does not keep the temporary for the loop
  for (const auto& row : rows) {
    require(static_cast<std::int64_t>(row.size()) == cols, schema::ErrorCode::kBadData, "{}: init has centres of {} columns, the data {}", owner,
            row.size(), cols);
    for (std::size_t j = 0; j < row.size(); ++j) centers.push_back(static_cast<T>(row[j] - (shift.empty() ? 0.0 : shift[j])));
  }
  return centers;
}

template <class T>
class PlusPlus {
 public:
  PlusPlus(const Context& ctx, MatrixView<const T> X, std::span<const double> weights, std::int64_t trials)
      : ctx_(ctx), X_(X), weights_(ctx.memory(), weights), trials_(trials), found_(ctx.memory(), trials), totals_(ctx.memory(), trials),
        least_(ctx.memory(), trials, X.rows), kept_(ctx.memory(), trials, X.rows) {}

  // The distances to the first centre.
  void start(std::int64_t row) {
    const std::vector<std::int32_t> first{static_cast<std::int32_t>(row)};
    ctx_.memory().to_device(found_.data(), first.data(), sizeof(std::int32_t));
    step({}, 1);
  }
  // The row that lowers the potential most among those that the draws choose.
  std::int64_t next(LegacyRandom& random) {
    std::vector<double> thresholds(static_cast<std::size_t>(trials_));
    for (double& threshold : thresholds) threshold = random.uniform() * potential_;
    const Array<double> drawn(ctx_.memory(), std::span<const double>(thresholds));
    ctx_.ops<T>().clusters->cumulative_search(closest(), weights_.view(), drawn.view(), found_.view());
    const std::vector<std::int32_t> candidates = found_.to_host();
    std::swap(least_, kept_);
    const auto before = VectorView<const T>(kept_.data() + best_ * X_.rows, X_.rows);
    step(before, trials_);
    return candidates[static_cast<std::size_t>(best_)];
  }

 private:
  VectorView<const T> closest() const { return {least_.data() + best_ * X_.rows, X_.rows}; }
  void step(VectorView<const T> before, std::int64_t candidates) {
    ctx_.ops<T>().clusters->nearest_within(X_, VectorView<const std::int32_t>(found_.data(), candidates), before,
                                           weights_.view(), least_.view().row_range(0, candidates),
                                           VectorView<double>(totals_.data(), candidates));
    std::vector<double> totals = totals_.to_host();
    best_ = std::min_element(totals.begin(), totals.begin() + candidates) - totals.begin();
    potential_ = totals[static_cast<std::size_t>(best_)];
  }

  const Context& ctx_;
  MatrixView<const T> X_;
  Array<double> weights_;
  std::int64_t trials_;
  Array<std::int32_t> found_;
  Array<double> totals_;
  Matrix<T> least_, kept_;   // candidates x rows
  std::int64_t best_ = 0;
  double potential_ = 0;
};

template <class T>
std::vector<T> plus_plus_centers(const Context& ctx, MatrixView<const T> X, std::span<const double> weights, std::int64_t n_clusters,
                                 LegacyRandom& random) {
  const auto trials = 2 + static_cast<std::int64_t>(std::log(static_cast<double>(n_clusters)));
  PlusPlus<T> search(ctx, X, weights, trials);
  const double draw = random.uniform();
  std::int64_t chosen =
      weights.empty() ? EqualWeights(X.rows).at(draw) : CumulatedWeights(shares_of(weights, X.rows)).at(draw);
  std::vector<T> centers = row_at(ctx, X, chosen);
  if (n_clusters > 1) search.start(chosen);
  for (std::int64_t c = 1; c < n_clusters; ++c) {
    ctx.check_stop();
    chosen = search.next(random);
    const std::vector<T> row = row_at(ctx, X, chosen);
    centers.insert(centers.end(), row.begin(), row.end());
  }
  return centers;
}

// body(first, values of those rows) over X in batches.
template <class T, class Body>
void in_batches(const Context& ctx, const Samples<T>& X, std::int64_t n_centers, Body&& body) {
  const double per_row = static_cast<double>(X.n_cols()) * static_cast<double>(std::max<std::int64_t>(1, n_centers / 16));
  const auto batch = static_cast<std::int64_t>(std::clamp(kBatchValues / per_row, 1024.0, 1e9));
  Matrix<T> scratch;
  for (std::int64_t first = 0; first < X.n_rows(); first += batch) {
    ctx.check_stop();
    body(first, X.values(ctx, first, std::min(batch, X.n_rows() - first), scratch));
  }
}

}  // namespace

std::vector<schema::ParamForm> center_init_forms() { return {string_form({"k-means++", "random"}), array_form({array_form()})}; }
std::vector<schema::ParamForm> n_init_forms() { return {string_form({"auto"}), integer_form(at_least(1))}; }

void check_center_init(std::string_view owner, const schema::Value& init, std::int64_t n_clusters) {
  const auto rows = center_rows(init);
  if (!rows) return;
  if (static_cast<std::int64_t>(rows->size()) != n_clusters)
    refuse_param(owner, "init", init, "must have n_clusters = " + std::to_string(n_clusters) + " rows");
  for (const auto& row : *rows)
    if (row.size() != rows->front().size()) refuse_param(owner, "init", init, "must have rows of one length");
}

std::int64_t runs_of(const schema::Value& n_init, const schema::Value& init, std::int64_t random_runs) {
  if (center_rows(init)) return 1;
  if (const auto* runs = std::get_if<std::int64_t>(&n_init.data)) return *runs;
  return std::get<std::string>(init.data) == "random" ? random_runs : 1;
}

template <class T>
std::vector<T> initial_centers(const Context& ctx, std::string_view owner, const schema::Value& init, MatrixView<const T> X,
                               std::span<const double> weights, const std::vector<double>& shift, std::int64_t n_clusters, LegacyRandom& random) {
  if (center_rows(init)) return given_centers<T>(owner, init, shift, X.cols);
  if (std::get<std::string>(init.data) == "k-means++") return plus_plus_centers(ctx, X, weights, n_clusters, random);
  const auto weighty = weights.empty() ? X.rows : std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; });
  require(weighty >= n_clusters, schema::ErrorCode::kBadData, "{}: n_clusters is {}, but only {} rows have a weight above 0", owner, n_clusters,
          weighty);
  std::vector<T> centers;
  for (const std::int64_t i : random.choice_without_replacement(shares_of(weights, X.rows), n_clusters)) {
    const std::vector<T> row = row_at(ctx, X, i);
    centers.insert(centers.end(), row.begin(), row.end());
  }
  return centers;
}

template <class T>
std::vector<std::int32_t> nearest_centers(const Context& ctx, const Samples<T>& X, const std::vector<T>& centers) {
  const std::int64_t k = static_cast<std::int64_t>(centers.size()) / X.n_cols();
  const Matrix<T> rows(ctx.memory(), k, X.n_cols(), centers);
  Array<std::int32_t> labels(ctx.memory(), X.n_rows());
  labels.zero();
  in_batches(ctx, X, k, [&](std::int64_t first, MatrixView<const T> values) {
    ctx.ops<T>().clusters->assign_nearest(values, rows.view(), labels.view().slice(first, values.rows));
  });
  return labels.to_host();
}

template <class T>
Samples<T> center_distances(const Context& ctx, const Samples<T>& X, const std::vector<T>& centers) {
  const std::int64_t k = static_cast<std::int64_t>(centers.size()) / X.n_cols();
  const Matrix<T> rows(ctx.memory(), k, X.n_cols(), centers);
  Matrix<T> out(ctx.memory(), X.n_rows(), k);
  in_batches(ctx, X, 16 * k, [&](std::int64_t first, MatrixView<const T> values) {
    ctx.ops<T>().distances->pairwise(values, rows.view(), {}, out.view().row_range(first, values.rows));
  });
  return samples_of(std::move(out));
}

void give_labels(const Context& ctx, Array<std::int32_t>& labels) {
  Ranks* const ranks = ranks_of_rows_on(ctx.device, labels.size());
  if (!ranks) return;
  const PartedBytes all = ranks->share([&] {
    const Part own = own_rows(ranks, labels.size());
    std::vector<std::byte> bytes(static_cast<std::size_t>(own.size()) * sizeof(std::int32_t));
    if (!bytes.empty()) ctx.memory().to_host(bytes.data(), labels.data() + own.begin, bytes.size());
    return bytes;
  });
  ctx.memory().to_device(labels.data(), all.bytes.data(), all.bytes.size());
}

// The sum is exact, of tiles of rows that ranks divide.
template <class T>
double inertia_of(const Context& ctx, MatrixView<const T> X, MatrixView<const T> centers,
                  VectorView<const std::int32_t> labels, VectorView<const double> weights) {
  Array<double> squared(ctx.memory(), X.rows), total(ctx.memory(), 1);
  const Part own = own_rows(ranks_of_rows_on(ctx.device, X.rows), X.rows);
  const VectorView<double> of_own = squared.view().slice(own.begin, own.size());
  ctx.ops<T>().clusters->squared_to_assigned(X.row_range(own.begin, own.size()), centers,
                                             labels.slice(own.begin, own.size()), of_own);
  if (!weights.empty())
    ctx.ops<double>().maps->combine(Binary::kMultiply, {of_own.data, of_own.size, 1},
                                    {weights.data + own.begin, of_own.size, 1}, {of_own.data, of_own.size, 1});
  ctx.ops<double>().rows->column_sums({squared.data(), X.rows, 1}, total.view());
  return total.to_host()[0];
}

#define KEDGE_INSTANTIATE(T)                                                                                           \
  template std::vector<T> initial_centers(const Context&, std::string_view, const schema::Value&, MatrixView<const T>, \
                                          std::span<const double>, const std::vector<double>&, std::int64_t,           \
                                          LegacyRandom&);                                                              \
  template std::vector<std::int32_t> nearest_centers(const Context&, const Samples<T>&, const std::vector<T>&);        \
  template Samples<T> center_distances(const Context&, const Samples<T>&, const std::vector<T>&);                      \
  template double inertia_of(const Context&, MatrixView<const T>, MatrixView<const T>, VectorView<const std::int32_t>, \
                             VectorView<const double>);
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

}  // namespace kedge::engine
