// IterativeImputer: the first filling, the rounds, and the way of later rows through the regressions.
#include "engine/estimators/preprocessing/iterative_imputer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/linear/evidence.h"
#include "engine/estimators/memory_terms.h"
#include "engine/estimators/preprocessing/column_stats.h"
#include "engine/estimators/preprocessing/missing_indicator.h"

namespace kedge::engine {
namespace {

using P = IterativeImputerParams;
using schema::ErrorCode;
using schema::Value;

constexpr const char* kOwner = "IterativeImputer";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastCorrelation = 1e-6;   // so that each column may be drawn

const ParamSet<P>& param_set() {
  const std::vector<schema::ParamForm> limit{number_form(), null_form(), array_form()};
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .ignore("estimator", nullptr, {null_form()})
          .any("missing_values", &P::missing_values, missing_values_forms(),
               "What stands for a missing value: \"NaN\" or a number.")
          .add("sample_posterior", &P::sample_posterior, "Only false: the mean of what is predicted is taken.")
          .add("max_iter", &P::max_iter, at_least(0), "Largest number of rounds.")
          .add("tol", &P::tol, at_least(0),
               "Stop when no row changes by more, in sum, as a share of the largest size of a value.")
          .add("n_nearest_features", &P::n_nearest_features, at_least(1),
               "Columns that one is predicted from, drawn by their correlation with it; null takes all.")
          .add("initial_strategy", &P::initial_strategy, {"mean", "median", "most_frequent", "constant"},
               "What values are missing at first.")
          .any("fill_value", &P::fill_value, {number_form(), null_form()},
               "The constant of initial_strategy \"constant\"; null: 0.")
          .add("imputation_order", &P::imputation_order, {"ascending", "descending", "roman", "arabic", "random"},
               "Columns by how many values they lack, from left to right, from right to left, or shuffled each round.")
          .add("skip_complete", &P::skip_complete,
               "Make no regression for columns that lack nothing in the fitted rows.")
          .any("min_value", &P::min_value, limit, "Least value, one or one for each column; null for none.")
          .any("max_value", &P::max_value, limit, "Greatest value, one or one for each column; null for none.")
          .ignore("verbose", 0, {integer_form(at_least(0))})
          .random_state(&P::random_state)
          .add("add_indicator", &P::add_indicator, "Add a column of zeros and ones for each column that lacked values.")
          .add("keep_empty_features", &P::keep_empty_features,
               "Keep columns without any value, filled with 0 or the constant.");
  return set;
}

schema::ValueMap initial_params(const P& p) {
  return {{"missing_values", p.missing_values},
          {"strategy", p.initial_strategy},
          {"fill_value", p.fill_value},
          {"keep_empty_features", p.keep_empty_features}};
}

// One limit for each of n columns.
std::vector<double> limits_of(const Value& given, double none, std::int64_t n) {
  if (const auto* number = std::get_if<double>(&given.data))
    return std::vector<double>(static_cast<std::size_t>(n), *number);
  const auto numbers = given.is_null() ? std::nullopt : numbers_of(given);
  return numbers ? *numbers : std::vector<double>(static_cast<std::size_t>(n), none);
}

template <class T>
MatrixView<T> column_of(Matrix<T>& X, std::int64_t j) {
  return {X.data() + j, X.rows(), 1, X.cols()};
}

template <class T>
Matrix<T> copied(const Context& ctx, const Matrix<T>& X) {
  Matrix<T> same(ctx.memory(), X.rows(), X.cols());
  ctx.ops<T>().tables->gather(X.view(), {}, {}, {}, same.view());
  return same;
}

// The largest sum of the sizes of a row's cells.
template <class T>
double largest_row(const Context& ctx, Matrix<T> X) {
  Matrix<T> sums(ctx.memory(), X.rows(), 1);
  const Matrix<T> ones(ctx.memory(), X.cols(), 1, std::vector<T>(static_cast<std::size_t>(X.cols()), T{1}));
  ctx.ops<T>().maps->map(Unary::kAbs, 1, std::as_const(X).view(), X.view());
  ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kNo, T{1}, std::as_const(X).view(), ones.view(), T{0},
                            sums.view());
  Array<T> low(ctx.memory(), 1), high(ctx.memory(), 1);
  ctx.ops<T>().tables->column_range(std::as_const(sums).view(), {}, low.view(), high.view());
  return static_cast<double>(high.to_host()[0]);
}

}   // namespace

template <class T>
IterativeImputer<T>::IterativeImputer(const schema::ValueMap& params)
    : params_(param_set().parse(params)), initial_(initial_params(params_)) {
  if (params_.sample_posterior) refuse_param(kOwner, "sample_posterior", true, "must be false: draws are not there");
}

template <class T>
schema::EstimatorInfo IterativeImputer<T>::info() {
  return {.name = kOwner,
          .kind = "transformer",
          .family = "impute",
          .doc = "Replace missing values by what regressions on the other columns predict, round after round.",
          .params = param_set().infos(),
          .attributes = {"n_iter_", "n_features_with_missing_", "indicator_"},
          .deviations = {"The regressor is BayesianRidge with its defaults; sample_posterior is not there.",
                         "min_value and max_value are null where scikit-learn has an infinity.",
                         "Regressions of float32 columns are solved in double."}};
}

template <class T>
MemoryNeed IterativeImputer<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t rounds = memory::integer(step, "max_iter", 10);
  const std::int64_t sequence = bytes_of(bytes_of(rounds, X.cols, 1), X.cols, memory::kDouble);
  MemoryNeed need = memory::makes(
      X, 2 * X.cols, X.copy() + 8 * X.value_size() + memory::block(X) + 6 * memory::square(X.cols) + sequence);
  need.is_exact = false;
  return need;
}

template <class T>
typename IterativeImputer<T>::Table IterativeImputer<T>::start(const Context& ctx, const Samples<T>& X) const {
  const std::vector<T> missing = missing_cells(ctx, kOwner, params_.missing_values, X);
  const Samples<T> filled = initial_.transform(ctx, X);
  Matrix<T> scratch, of_filled;
  Table table;
  table.filled = Matrix<T>(ctx.memory(), X.n_rows(), width());
  ctx.ops<T>().tables->gather(filled.values(ctx, of_filled), {}, {}, {}, table.filled.view());
  table.marks = missing_marks(ctx, X.values(ctx, scratch), missing, kept_);
  Matrix<T> present = copied(ctx, table.marks);   // 1 where a value is
  MapOps<T>& maps = *ctx.ops<T>().maps;
  const T minus_one{-1}, plus_one{1};
  const Matrix<T> minus(ctx.memory(), 1, 1, std::span(&minus_one, 1)),
      plus(ctx.memory(), 1, 1, std::span(&plus_one, 1));
  maps.combine(Binary::kMultiply, std::as_const(present).view(), minus.view(), present.view());
  maps.combine(Binary::kAdd, std::as_const(present).view(), plus.view(), present.view());
  table.known = std::move(present);
  maps.combine(Binary::kMultiply, std::as_const(table.known).view(), std::as_const(table.filled).view(),
               table.known.view());
  Array<double> sums(ctx.memory(), width());
  ctx.ops<T>().rows->column_sums(std::as_const(table.marks).view(), sums.view());
  table.missing = sums.to_host();
  return table;
}

template <class T>
typename IterativeImputer<T>::Limits IterativeImputer<T>::limits() const {
  const std::vector<double> low = limits_of(params_.min_value, -kInfinity, n_features_),
                            high = limits_of(params_.max_value, kInfinity, n_features_);
  Limits limits;
  for (const auto& [values, name] : {std::pair(&low, "min_value"), std::pair(&high, "max_value")})
    require(static_cast<std::int64_t>(values->size()) == n_features_, ErrorCode::kBadData,
            "{}: {} has {} numbers, but the data have {} columns", kOwner, name, values->size(), n_features_);
  for (const std::int32_t j : kept_) {
    const auto at = static_cast<std::size_t>(j);
    require(low[at] < high[at], ErrorCode::kBadData,
            "{}: column {}: min_value is {}, must be below max_value, which is {}", kOwner, j, low[at], high[at]);
    limits.low.push_back(low[at]), limits.high.push_back(high[at]);
  }
  return limits;
}

template <class T>
std::vector<std::int32_t> IterativeImputer<T>::order(const Table& table, LegacyRandom& random) const {
  std::vector<std::int32_t> columns(kept_.size());
  std::iota(columns.begin(), columns.end(), 0);
  const auto lacks = [&](std::int32_t j) { return table.missing[static_cast<std::size_t>(j)]; };
  if (params_.skip_complete) std::erase_if(columns, [&](std::int32_t j) { return lacks(j) == 0; });
  const std::string& by = params_.imputation_order;
  if (by == "ascending" || by == "descending") std::ranges::stable_sort(columns, {}, lacks);
  if (by == "descending" || by == "arabic") std::ranges::reverse(columns);
  if (by == "random") random.shuffle(std::span(columns));
  return columns;
}

// Sizes of the correlations of the filled columns, 0 with themselves.
template <class T>
std::vector<std::vector<double>> IterativeImputer<T>::nearness(const Context& ctx, const Table& table) const {
  const auto k = static_cast<std::size_t>(width());
  if (!params_.n_nearest_features || *params_.n_nearest_features >= width()) return {};
  Array<double> mean(ctx.memory(), width());
  ctx.ops<T>().tables->column_moments(table.filled.view(), {}, {}, mean.view(), {});
  Matrix<double> gram(ctx.memory(), width(), width());
  ctx.ops<T>().design->gram({.X = table.filled.view(), .shift = std::as_const(mean).view()}, gram.view());
  const std::vector<double> G = gram.to_host();
  std::vector<std::vector<double>> near(k, std::vector<double>(k, 0.0));
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j) {
      if (i == j) continue;
      const double r = std::abs(G[i * k + j] / (std::sqrt(G[i * k + i]) * std::sqrt(G[j * k + j])));
      near[j][i] = r > kLeastCorrelation ? r : kLeastCorrelation;   // NaN of a constant column, too
    }
  return near;
}

template <class T>
typename IterativeImputer<T>::Regression IterativeImputer<T>::regression(
    const Context& ctx, const Table& table, std::int32_t column, VectorView<const std::int32_t> rows,
    const std::vector<std::int32_t>& neighbours) const {
  const auto k = static_cast<std::size_t>(width()), m = neighbours.size(), own = static_cast<std::size_t>(column);
  Array<double> means(ctx.memory(), width());
  ctx.ops<T>().tables->column_moments(table.filled.view(), rows, {}, means.view(), {});
  Matrix<double> gram(ctx.memory(), width(), width());
  ctx.ops<T>().design->gram({.X = table.filled.view(), .rows = rows, .shift = std::as_const(means).view()},
                            gram.view());
  const std::vector<double> G = gram.to_host(), mean = means.to_host();
  std::vector<double> part(m * m), products(m);
  for (std::size_t a = 0; a < m; ++a) {
    const auto i = static_cast<std::size_t>(neighbours[a]);
    products[a] = G[i * k + own];
    for (std::size_t b = 0; b < m; ++b) part[a * m + b] = G[i * k + static_cast<std::size_t>(neighbours[b])];
  }
  const auto n_rows = static_cast<double>(rows.empty() ? table.filled.rows() : rows.size);
  const std::vector<double> coef = coef_of_greatest_evidence(ctx, part, products, G[own * k + own], n_rows);
  Regression made{.column = column, .intercept = mean[own], .coef = std::vector<double>(k, 0.0)};
  for (std::size_t a = 0; a < m; ++a) {
    const auto i = static_cast<std::size_t>(neighbours[a]);
    made.coef[i] = coef[a], made.intercept -= coef[a] * mean[i];
  }
  return made;
}

template <class T>
void IterativeImputer<T>::impute(const Context& ctx, Table& table, const Regression& regression,
                                 const Limits& limits) const {
  const auto j = static_cast<std::size_t>(regression.column);
  if (table.missing[j] == 0) return;
  const std::vector<T> coef(regression.coef.begin(), regression.coef.end());
  const T start = static_cast<T>(regression.intercept);
  const Matrix<T> weights(ctx.memory(), width(), 1, coef), intercept(ctx.memory(), 1, 1, std::span(&start, 1));
  Matrix<T> said(ctx.memory(), table.filled.rows(), 1);
  MapOps<T>& maps = *ctx.ops<T>().maps;
  ctx.ops<T>().linear->gemm(Transpose::kNo, Transpose::kNo, T{1}, std::as_const(table.filled).view(), weights.view(),
                            T{0}, said.view());
  maps.combine(Binary::kAdd, std::as_const(said).view(), intercept.view(), said.view());
  ctx.ops<T>().tables->clip(said.view(), static_cast<T>(limits.low[j]), static_cast<T>(limits.high[j]));
  maps.combine(Binary::kMultiply, std::as_const(said).view(), column_of(table.marks, regression.column), said.view());
  maps.combine(Binary::kAdd, std::as_const(said).view(), column_of(table.known, regression.column),
               column_of(table.filled, regression.column));
}

template <class T>
void IterativeImputer<T>::run_rounds(const Context& ctx, Table& table) {
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  const Limits bounds = limits();
  std::vector<std::int32_t> columns = order(table, random);
  n_with_missing_ = static_cast<std::int64_t>(columns.size());
  const std::vector<std::vector<double>> near = nearness(ctx, table);
  const std::vector<T> marks = table.marks.to_host();
  std::vector<Array<std::int32_t>> rows(kept_.size());   // that have the column; empty: all
  for (std::size_t j = 0; j < rows.size(); ++j) {
    if (table.missing[j] == 0) continue;
    std::vector<std::int32_t> present;
    for (std::size_t i = 0; i * kept_.size() < marks.size(); ++i)
      if (marks[i * kept_.size() + j] == 0) present.push_back(static_cast<std::int32_t>(i));
    rows[j] = Array<std::int32_t>(ctx.memory(), std::span<const std::int32_t>(present));
  }
  const Ranges known = column_ranges(ctx, samples_of(copied(ctx, table.known)));
  double largest = 0;
  for (std::size_t j = 0; j < rows.size(); ++j)
    largest = std::max({largest, std::abs(known.minimum[j]), std::abs(known.maximum[j])});
  for (n_iter_ = 1;; ++n_iter_) {
    if (params_.imputation_order == "random") columns = order(table, random);
    Matrix<T> change = copied(ctx, table.filled);
    for (const std::int32_t j : columns) {
      ctx.check_stop();
      std::vector<std::int32_t> neighbours;
      if (!near.empty())
        for (const std::int64_t i :
             random.choice_without_replacement(near[static_cast<std::size_t>(j)], *params_.n_nearest_features))
          neighbours.push_back(static_cast<std::int32_t>(i));
      for (std::int32_t i = 0; near.empty() && i < width(); ++i)
        if (i != j) neighbours.push_back(i);
      sequence_.push_back(
          regression(ctx, table, j, std::as_const(rows[static_cast<std::size_t>(j)]).view(), neighbours));
      impute(ctx, table, sequence_.back(), bounds);
    }
    ctx.ops<T>().maps->combine(Binary::kSubtract, std::as_const(table.filled).view(), std::as_const(change).view(),
                               change.view());
    ctx.progress("rounds", n_iter_, params_.max_iter, "rounds");
    if (largest_row(ctx, std::move(change)) < params_.tol * largest) return;
    if (n_iter_ == params_.max_iter) break;
  }
  ctx.warn(
      fmt::format("{}: after max_iter = {} rounds values still change by more than tol", kOwner, params_.max_iter));
}

template <class T>
void IterativeImputer<T>::fit(const Context& ctx, const Samples<T>& X, const Target& y) {
  require_rows(kOwner, X);
  ctx.check_stop();
  const std::vector<T> missing = missing_cells(ctx, kOwner, params_.missing_values, X);
  const ColumnCentres found = column_centres(ctx, X, ColumnCentre::kNone, missing);
  n_features_ = X.n_cols(), n_iter_ = 0, n_with_missing_ = 0;
  kept_.clear(), lacking_.clear(), sequence_.clear();
  for (std::size_t j = 0; j < found.present.size(); ++j) {
    if (found.present[j] > 0 || params_.keep_empty_features) kept_.push_back(static_cast<std::int32_t>(j));
    if (found.present[j] < X.n_rows()) lacking_.push_back(static_cast<std::int32_t>(j));
  }
  require(!kept_.empty(), ErrorCode::kBadData, "{}: no column has any value", kOwner);
  initial_.fit(ctx, X, y);
  if (params_.max_iter == 0 || kept_.size() == 1) return;
  Table table = start(ctx, X);
  for (std::size_t j = 0; j < kept_.size(); ++j)   // an empty column stays as it was filled at first
    if (found.present[static_cast<std::size_t>(kept_[j])] == 0) table.missing[j] = 0;
  run_rounds(ctx, table);
}

template <class T>
Samples<T> IterativeImputer<T>::transform(const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(kOwner, X, static_cast<std::size_t>(n_features_));
  ctx.check_stop();
  Table table = start(ctx, X);
  const Limits bounds = n_iter_ > 0 ? limits() : Limits{};
  for (const Regression& one : sequence_) {
    ctx.check_stop();
    impute(ctx, table, one, bounds);
  }
  const std::vector<Feature> before = features_of(*X.table);
  std::vector<Feature> features;
  for (const std::int32_t j : kept_) features.push_back(before[static_cast<std::size_t>(j)]);
  if (!params_.add_indicator) return samples_of(std::move(table.filled), std::move(features));
  for (const std::int32_t j : lacking_)
    features.push_back({.name = "missingindicator_" + before[static_cast<std::size_t>(j)].name});
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, X.n_rows(), static_cast<std::int64_t>(features.size()));
  TableOps<T>& tables = *ctx.ops<T>().tables;
  tables.gather(std::as_const(table.filled).view(), {}, {}, {}, {out.data(), out.rows(), width(), out.cols()});
  if (!lacking_.empty()) {
    const Matrix<T> marks =
        missing_marks(ctx, X.values(ctx, scratch), missing_cells(ctx, kOwner, params_.missing_values, X), lacking_);
    tables.gather(marks.view(), {}, {}, {}, {out.data() + width(), out.rows(), marks.cols(), out.cols()});
  }
  return samples_of(std::move(out), std::move(features));
}

template <class T>
schema::ValueMap IterativeImputer<T>::attributes() const {
  const std::vector<double> marked(lacking_.begin(), lacking_.end());
  return {{"n_iter_", n_iter_},
          {"n_features_with_missing_", n_with_missing_},
          {"indicator_", params_.add_indicator ? Value(schema::ValueMap{{"features_", marked}}) : Value()}};
}

template <class T>
void IterativeImputer<T>::state(StateArchive& archive) {
  archive.features(n_features_);
  archive.number("n_iter", n_iter_, 0, kMaxSize);
  archive.number("n_with_missing", n_with_missing_, 0, archive.n_features());
  archive.indices("kept", kept_, kAnySize, 0, archive.n_features() - 1);
  archive.expect(!kept_.empty() && std::ranges::adjacent_find(kept_, std::greater_equal<>()) == kept_.end(), "kept",
                 "does not ascend");
  archive.indices("lacking", lacking_, kAnySize, 0, archive.n_features() - 1);
  initial_.state(archive);
  archive.list("sequence", sequence_, [&](Regression& one) {
    archive.number("column", one.column, 0, width() - 1);
    archive.field("intercept", one.intercept);
    archive.field("coef", one.coef, width());
    archive.expect_finite("coef", one.coef);
  });
  archive.expect(n_iter_ > 0 || sequence_.empty(), "sequence", "has no rounds");
}

template class IterativeImputer<float>;
template class IterativeImputer<double>;

}   // namespace kedge::engine
