// SMOTE: draws rows and neighbours, and puts new rows between them.
#include "engine/estimators/resampling/smote.h"

#include <algorithm>

#include "engine/core/legacy_random.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = SmoteParams;
constexpr const char* kOwner = "SMOTE";
constexpr std::int64_t kMostNeighbours = 1023;             // with the row itself, what a GPU finds at once
constexpr std::int64_t kQueries = std::int64_t{1} << 16;   // rows whose neighbours are searched at once

const ParamSet<P>& param_set() {
  static const ParamSet<P> set =
      ParamSet<P>(kOwner)
          .any("sampling_strategy", &P::sampling_strategy, sampling_strategy_forms(Sampling::kOver),
               "Classes that get as many rows as the largest (auto: all but that); with 2 classes also the rows of the "
               "smaller one as a share of the larger one's; or {class: rows}.")
          .random_state(&P::random_state)
          .add("k_neighbors", &P::k_neighbors, between(1, kMostNeighbours),
               "Neighbours of a row in its class, of which one is drawn.");
  return set;
}

// Between which rows of the class a new row lies, and where.
struct Draws {
  std::vector<std::int32_t> row, neighbour;   // neighbour: the number of it, from 0 for the nearest
  std::vector<double> place;
};

Draws drawn(LegacyRandom& random, std::int64_t count, std::int64_t n_rows, std::int64_t k) {
  Draws draws;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto cell = static_cast<std::int64_t>(random.interval(static_cast<std::uint64_t>(n_rows * k - 1)));
    draws.row.push_back(static_cast<std::int32_t>(cell / k));
    draws.neighbour.push_back(static_cast<std::int32_t>(cell % k));
  }
  for (std::int64_t i = 0; i < count; ++i) draws.place.push_back(random.uniform());
  return draws;
}

template <class T>
Matrix<T> taken(const Context& ctx, MatrixView<const T> rows, std::span<const std::int32_t> which) {
  const Array<std::int32_t> places(ctx.memory(), which);
  Matrix<T> out(ctx.memory(), places.size(), rows.cols);
  ctx.ops<T>().tables->gather(rows, places.view(), {}, {}, out.view());
  return out;
}

// The nearest `k` of `points` for each row of them that `which` names, nearest first, each row itself left out.
template <class T>
std::vector<std::int32_t> neighbours_of(const Context& ctx, const Matrix<T>& points,
                                        std::span<const std::int32_t> which, std::int64_t k) {
  const auto index = ctx.ops<T>().distances->index_points(points.view(), Distance{});
  std::vector<std::int32_t> found;
  found.reserve(which.size() * static_cast<std::size_t>(k));
  const auto n = static_cast<std::int64_t>(which.size());
  for (std::int64_t first = 0; first < n; first += kQueries) {
    ctx.check_stop();
    const std::int64_t count = std::min(kQueries, n - first);
    const Matrix<T> queries =
        taken(ctx, points.view(), which.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    Matrix<std::int32_t> indices(ctx.memory(), count, k + 1);
    Matrix<T> reduced(ctx.memory(), count, k + 1);
    index->nearest(queries.view(), static_cast<int>(k + 1), indices.view(), reduced.view());
    const std::vector<std::int32_t> host = indices.to_host();
    for (auto row = host.begin(); row != host.end(); row += k + 1)   // the first is the row, or one that equals it
      found.insert(found.end(), row + 1, row + k + 1);
  }
  return found;
}

}   // namespace

template <class T>
SMOTE<T>::SMOTE(const schema::ValueMap& params) : SMOTE(param_set().parse(params)) {}

template <class T>
SMOTE<T>::SMOTE(SmoteParams params)
    : ClassResampler<T>(kOwner, Sampling::kOver, params.sampling_strategy), params_(std::move(params)) {}

template <class T>
schema::EstimatorInfo SMOTE<T>::info() {
  return {
      .name = kOwner,
      .kind = "transformer",
      .family = "over_sampling",
      .doc =
          "Make rows of rare classes between rows and their neighbours, in fits alone: rows that are predicted or scored pass "
          "unchanged. The last step must be a classifier.",
      .params = param_set().infos(),
      .attributes = {"sampling_strategy_"},
      .deviations = {"It is imbalanced-learn's, with its draws and rows.",
                     "k_neighbors is a number, sampling_strategy no function.",
                     "Of neighbours at the same distance the first rows are taken.",
                     "Sparse rows are made dense. A job with sample weights is refused: rows that are made have none.",
                     "Without random_state the seed of the job is taken, so that a job repeats."}};
}

template <class T>
MemoryNeed SMOTE<T>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t made = memory::made_rows(X, step), k = memory::integer(step, "k_neighbors", 5) + 1;
  SampleShape all = X;
  all.rows = std::min(X.rows + made, memory::kMost);
  MemoryNeed need = memory::makes(all, X.cols, 0);
  // A class, its index and queries, and the draws with their answers.
  need.work = 3 * X.value_size() + memory::block(X) + (X.rows + made) * (2 * k + 8) * memory::kDouble;
  need.use = 0;
  need.is_exact = false;
  return need;
}

// Rows of one class: as many as `out` has.
template <class T>
void SMOTE<T>::make(const Context& ctx, MatrixView<const T> given, std::span<const std::int32_t> members,
                    MatrixView<T> out) const {
  const auto n = static_cast<std::int64_t>(members.size());
  const std::int64_t k = params_.k_neighbors;
  LegacyRandom random(static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed))));
  const Draws draws = drawn(random, out.rows, n, k);   // the same for each class, as there
  const bool asks_few = out.rows < n;                  // fewer than all: the neighbours of those that were drawn
  std::vector<std::int32_t> asked = draws.row;
  if (!asks_few) {
    asked.resize(members.size());
    for (std::int64_t i = 0; i < n; ++i) asked[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
  }
  const Matrix<T> points = taken(ctx, given, members);
  const std::vector<std::int32_t> neighbours = neighbours_of(ctx, points, std::span<const std::int32_t>(asked), k);
  std::vector<std::int32_t> from = draws.row, to(from.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t list = asks_few ? i : static_cast<std::size_t>(draws.row[i]);
    to[i] = neighbours[list * static_cast<std::size_t>(k) + static_cast<std::size_t>(draws.neighbour[i])];
  }
  const std::vector<T> places(draws.place.begin(), draws.place.end());
  MapOps<T>& maps = *ctx.ops<T>().maps;
  const std::int64_t step = block_rows(ctx, memory::kBlockRows, given.cols);
  for (std::int64_t first = 0; first < out.rows; first += step) {
    ctx.check_stop();
    const std::int64_t count = std::min(step, out.rows - first);
    const auto part = [&](const auto& all) {
      return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    };
    const MatrixView<T> rows = out.row_range(first, count);
    const Array<std::int32_t> starts(ctx.memory(), part(from));
    ctx.ops<T>().tables->gather(points.view(), starts.view(), {}, {}, rows);
    Matrix<T> ways = taken(ctx, points.view(), part(to));
    const Matrix<T> shares(ctx.memory(), count, 1, part(places));
    maps.combine(Binary::kSubtract, ways.view(), rows, ways.view());
    maps.combine(Binary::kMultiply, ways.view(), shares.view(), ways.view());
    maps.combine(Binary::kAdd, rows, ways.view(), rows);
  }
}

template <class T>
Resampled<T> SMOTE<T>::fit_resample(const Context& ctx, const Samples<T>& X, const Target& y) {
  const std::vector<ClassSample> plan = this->plan(ctx, X, y);
  require(y.weights.empty(), schema::ErrorCode::kBadData, "{}: the rows that it makes have no weights", kOwner);
  const std::vector<std::vector<std::int32_t>> members = rows_by_class(y);
  std::int64_t made = 0;
  for (const ClassSample& one : plan) {
    const std::string& name = y.classes[static_cast<std::size_t>(one.code)];
    const auto has = static_cast<std::int64_t>(members[static_cast<std::size_t>(one.code)].size());
    require(one.count == 0 || has > params_.k_neighbors, schema::ErrorCode::kBadData,
            "{}: class '{}' has {} rows, must have more than k_neighbors, which is {}", kOwner, name, has,
            params_.k_neighbors);
    made += one.count;
  }
  Resampled<T> all{X, {.codes = y.codes, .classes = y.classes}};
  if (made == 0) return all;
  const std::int64_t n = X.n_rows();
  Matrix<T> rows(ctx.memory(), n + made, X.n_cols());
  const Array<double> shift(ctx.memory(), std::span<const double>(X.shift)),
      scale(ctx.memory(), std::span<const double>(X.scale));
  ctx.ops<T>().tables->gather(std::as_const(X.table->X).view(), X.row_view(), shift.view(), scale.view(),
                              rows.view().row_range(0, n));
  std::int64_t at = n;
  for (const ClassSample& one : plan) {
    if (one.count == 0) continue;
    make(ctx, std::as_const(rows).view().row_range(0, n), members[static_cast<std::size_t>(one.code)],
         rows.view().row_range(at, one.count));
    all.y.codes.insert(all.y.codes.end(), static_cast<std::size_t>(one.count), one.code);
    at += one.count;
    ctx.progress("rows", at - n, made, "rows");
  }
  all.X = samples_of(std::move(rows), X.table->features);
  return all;
}

template class SMOTE<float>;
template class SMOTE<double>;

}   // namespace kedge::engine
