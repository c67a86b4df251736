// Draws rows of classes, and selects them.
#include "engine/estimators/resampling/random_samplers.h"

#include <algorithm>
#include <numeric>

#include "engine/core/legacy_random.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/memory_terms.h"

namespace kedge::engine {
namespace {

using P = RandomSamplerParams;
constexpr const char* kNames[] = {"RandomOverSampler", "RandomUnderSampler"};

constexpr const char* name_of(Sampling sampling) {
  return kNames[sampling == Sampling::kUnder ? 1 : 0];
}

template <Sampling kSampling>
const ParamSet<P>& param_set() {
  static const ParamSet<P> set = [] {
    constexpr bool kIsOver = kSampling == Sampling::kOver;
    ParamSet<P> params(name_of(kSampling));
    params
        .any("sampling_strategy", &P::sampling_strategy, sampling_strategy_forms(kSampling),
             kIsOver
                 ? "Classes that get as many rows as the largest (auto: all but that); with 2 classes also the rows of "
                   "the smaller one as a share of the larger one's; or {class: rows}."
                 : "Classes that keep as many rows as the smallest has (auto: all but that); with 2 classes also the "
                   "rows of the smaller one as a share of those that the larger one keeps; or {class: rows}.")
        .random_state(&P::random_state);
    if (kIsOver) params.ignore("shrinkage", nullptr, {null_form()});
    else params.add("replacement", &P::replacement, "Draw rows that may be drawn again.");
    return params;
  }();
  return set;
}

// Drawn with replacement.
void draw(LegacyRandom& random, const std::vector<std::int32_t>& from, std::int64_t count,
          std::vector<std::int32_t>& to) {
  for (std::int64_t i = 0; i < count; ++i) to.push_back(from[random.interval(from.size() - 1)]);
}

}   // namespace

template <class T, Sampling kSampling>
RandomSampler<T, kSampling>::RandomSampler(const schema::ValueMap& params)
    : RandomSampler(param_set<kSampling>().parse(params)) {}

template <class T, Sampling kSampling>
RandomSampler<T, kSampling>::RandomSampler(RandomSamplerParams params)
    : ClassResampler<T>(name_of(kSampling), kSampling, params.sampling_strategy), params_(std::move(params)) {}

template <class T, Sampling kSampling>
schema::EstimatorInfo RandomSampler<T, kSampling>::info() {
  constexpr bool kIsOver = kSampling == Sampling::kOver;
  schema::EstimatorInfo info{
      .name = name_of(kSampling),
      .kind = "transformer",
      .family = kIsOver ? "over_sampling" : "under_sampling",
      .doc = std::string(kIsOver ? "Repeat rows of rare classes" : "Leave out rows of frequent classes") +
             ", in fits alone: rows that are predicted or scored pass unchanged. The last step must be a classifier.",
      .params = param_set<kSampling>().infos(),
      .attributes = {"sampling_strategy_"},
      .deviations = {"It is imbalanced-learn's, with its draws and rows.", "sampling_strategy is no function.",
                     "sample_indices_, a number for each row, is not there.",
                     "Without random_state the seed of the job is taken, so that a job repeats."}};
  if (kIsOver) info.deviations.emplace_back("shrinkage is null: rows are repeated as they are.");
  return info;
}

template <class T, Sampling kSampling>
MemoryNeed RandomSampler<T, kSampling>::memory(const SampleShape& X, const schema::Step& step) {
  const std::int64_t made = kSampling == Sampling::kOver ? memory::made_rows(X, step) : 0;
  MemoryNeed need{.work = (X.rows + made) * 6 * memory::kDouble, .out = X};
  need.out.table_rows = std::max(X.table_rows, X.rows);
  need.out.rows = std::min(X.rows + made, memory::kMost);
  if (X.is_sparse() && X.rows > 0)
    need.out.entries = static_cast<std::int64_t>(static_cast<double>(X.entries) / static_cast<double>(X.rows) *
                                                 static_cast<double>(need.out.rows));
  need.out.in_place = false;
  need.use = 0;
  need.is_exact = false;
  return need;
}

// Positions of the rows that a fit gets.
template <class T, Sampling kSampling>
std::vector<std::int32_t> RandomSampler<T, kSampling>::chosen(std::uint32_t seed, const std::vector<ClassSample>& plan,
                                                              const Target& y) const {
  const std::vector<std::vector<std::int32_t>> members = rows_by_class(y);
  LegacyRandom random(seed);
  std::vector<std::int32_t> rows;
  if (kSampling == Sampling::kOver) {
    rows.resize(y.codes.size());
    std::iota(rows.begin(), rows.end(), 0);
    for (const ClassSample& one : plan) draw(random, members[static_cast<std::size_t>(one.code)], one.count, rows);
    return rows;
  }
  for (std::size_t code = 0; code < members.size(); ++code) {
    const auto found = std::ranges::find(plan, static_cast<std::int32_t>(code), &ClassSample::code);
    if (found == plan.end()) {
      rows.insert(rows.end(), members[code].begin(), members[code].end());
    } else if (params_.replacement) {
      draw(random, members[code], found->count, rows);
    } else {
      std::vector<std::int64_t> order = random.permutation(static_cast<std::int64_t>(members[code].size()));
      order.resize(static_cast<std::size_t>(found->count));
      for (const std::int64_t place : order) rows.push_back(members[code][static_cast<std::size_t>(place)]);
    }
  }
  return rows;
}

template <class T, Sampling kSampling>
Resampled<T> RandomSampler<T, kSampling>::fit_resample(const Context& ctx, const Samples<T>& X, const Target& y) {
  const std::vector<ClassSample> plan = this->plan(ctx, X, y);
  const auto seed = static_cast<std::uint32_t>(params_.random_state.value_or(static_cast<std::int64_t>(ctx.seed)));
  const std::vector<std::int32_t> rows = chosen(seed, plan, y);
  require(!rows.empty(), schema::ErrorCode::kBadData, "{}: sampling_strategy leaves no row", name_of(kSampling));
  auto device = std::make_shared<Array<std::int32_t>>(ctx.memory(), std::span<const std::int32_t>(rows));
  if (X.rows) ctx.ops<double>().categories->map_codes(device->view(), X.row_view(), device->view());
  Resampled<T> all{X, {.classes = y.classes}};
  all.X.rows = std::move(device);
  all.X.content.clear();
  for (const std::int32_t row : rows) {
    all.y.codes.push_back(y.codes[static_cast<std::size_t>(row)]);
    if (!y.weights.empty()) all.y.weights.push_back(y.weights[static_cast<std::size_t>(row)]);
  }
  return all;
}

template class RandomSampler<float, Sampling::kOver>;
template class RandomSampler<double, Sampling::kOver>;
template class RandomSampler<float, Sampling::kUnder>;
template class RandomSampler<double, Sampling::kUnder>;

}   // namespace kedge::engine
