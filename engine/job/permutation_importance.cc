// Scores with permuted columns: sklearn/inspection/_permutation_importance.py, 1.9.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/core/chosen.h"
#include "engine/core/legacy_distributions.h"
#include "engine/job/edited_rows.h"
#include "engine/job/inspection.h"
#include "engine/job/refuse.h"
#include "engine/model_selection/cross_validate.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

// How many of n rows each column is scored on.
std::int64_t sample_count(const std::optional<Value>& max_samples, std::int64_t n) {
  const std::string path = "task.permutationImportance.maxSamples";
  if (!max_samples || max_samples->is_null()) return n;
  if (const auto* rows = std::get_if<std::int64_t>(&max_samples->data)) {
    if (*rows > n)
      refuse(path, fmt::format("maxSamples is {}, there are {} rows", *rows, n), schema::ErrorCode::kBadData);
    return *rows;
  }
  const auto rows = static_cast<std::int64_t>(std::get<double>(max_samples->data) * static_cast<double>(n));
  if (rows < 1)
    refuse(path, fmt::format("maxSamples is {} of {} rows, which is none", std::get<double>(max_samples->data), n),
           schema::ErrorCode::kBadData);
  return rows;
}

// Row numbers of the device are 32 bits wide.
std::vector<std::int32_t> row_numbers(const std::vector<std::int64_t>& rows) {
  return {rows.begin(), rows.end()};
}

// The rows that columns are scored on, in the order in which they were drawn.
template <class T>
struct Drawn {
  Samples<T> X;
  Target y;
};

template <class T>
Drawn<T> drawn_rows(const Context& ctx, const Samples<T>& X, const Target& y, std::int64_t count,
                    LegacyRandom& random) {
  if (count == X.n_rows()) return {X, y};
  const std::vector<std::int64_t> rows = legacy_sample(random, X.n_rows(), count);
  Matrix<T> scratch, some(ctx.memory(), count, X.n_cols());
  const Array<std::int32_t> on_device(ctx.memory(), row_numbers(rows));
  ctx.ops<T>().tables->gather(X.values(ctx, scratch), on_device.view(), {}, {}, some.view());
  return {samples_of(std::move(some), X.table->features),
          {.codes = chosen(y.codes, rows),
           .classes = y.classes,
           .values = chosen(y.values, rows),
           .weights = chosen(y.weights, rows)}};
}

std::vector<std::string> names_of_columns(const std::vector<Feature>& features) {
  std::vector<std::string> names;
  for (const Feature& feature : features) names.push_back(feature.name);
  return names;
}

// importances: by column and repeat.
ValueMap importance_of(double baseline, const std::vector<std::vector<double>>& importances) {
  std::vector<double> mean, std;
  ValueList rows;
  for (const std::vector<double>& of_column : importances) {
    schema::Score score = summarize(of_column);
    mean.push_back(score.mean), std.push_back(score.std);
    rows.emplace_back(std::move(score.perFold));
  }
  return {{"baseline_score", baseline},
          {"importances_mean", std::move(mean)},
          {"importances_std", std::move(std)},
          {"importances", std::move(rows)}};
}

}   // namespace

// Every column starts with the same numbers in scikit-learn, so that one shuffle serves all columns.
template <class T>
void permutation_importance(const Context& ctx, const schema::PermutationImportance& task,
                            const std::vector<const Scorer*>& scorers, Chain<T>& chain, const Samples<T>& given,
                            const Target& y, schema::Result& result) {
  const Samples<T> X = densified(ctx, "permutationImportance", given);
  const std::vector<double> baseline = chain.score(ctx, X, y, scorers);
  LegacyRandom first(static_cast<std::uint32_t>(task.randomState.value_or(static_cast<std::int64_t>(ctx.seed))));
  LegacyRandom random(static_cast<std::uint32_t>(first.interval(std::numeric_limits<std::int32_t>::max())));
  const Drawn<T> drawn = drawn_rows(ctx, X, y, sample_count(task.maxSamples, X.n_rows()), random);
  const EditedRows<T> source(ctx, drawn.X, 1);
  EditedRows<T> edited(ctx, drawn.X, 1);
  const std::int64_t n_cols = X.n_cols(), total = n_cols * task.nRepeats;
  std::vector<std::int64_t> shuffled(static_cast<std::size_t>(drawn.X.n_rows())), order(shuffled.size());
  std::iota(shuffled.begin(), shuffled.end(), 0), std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<std::vector<double>>> importances(
      scorers.size(), std::vector<std::vector<double>>(static_cast<std::size_t>(n_cols)));
  ctx.progress("permutation", 0, total, "scores");
  for (std::int64_t repeat = 0; repeat < task.nRepeats; ++repeat) {
    random.shuffle(std::span(shuffled));
    order = chosen(order, shuffled);   // of what the last repeat left
    const Array<std::int32_t> rows(ctx.memory(), row_numbers(order));
    for (std::int64_t j = 0; j < n_cols; ++j) {
      ctx.check_stop();
      edited.set(j, source.samples().table->X.view(), static_cast<std::int32_t>(j), rows.view());
      const std::vector<double> scores = chain.score(ctx, edited.samples(), drawn.y, scorers);
      edited.set(j, source.samples().table->X.view(), static_cast<std::int32_t>(j), {});
      for (std::size_t s = 0; s < scorers.size(); ++s)
        importances[s][static_cast<std::size_t>(j)].push_back(baseline[s] - scores[s]);
      ctx.progress("permutation", repeat * n_cols + j + 1, total, "scores");
    }
  }
  ValueMap by_scorer;
  for (std::size_t s = 0; s < scorers.size(); ++s) {
    const std::string name(scorers[s]->name);
    result.scores.emplace_back(name, summarize({baseline[s]}));
    by_scorer.emplace_back(name, importance_of(baseline[s], importances[s]));
  }
  const std::vector<std::string> names = names_of_columns(features_of(*X.table));
  result.evaluation.emplace_back("permutation_importance", ValueMap{{"features", ValueList(names.begin(), names.end())},
                                                                    {"scorers", std::move(by_scorer)}});
}

template void permutation_importance(const Context&, const schema::PermutationImportance&,
                                     const std::vector<const Scorer*>&, Chain<float>&, const Samples<float>&,
                                     const Target&, schema::Result&);
template void permutation_importance(const Context&, const schema::PermutationImportance&,
                                     const std::vector<const Scorer*>&, Chain<double>&, const Samples<double>&,
                                     const Target&, schema::Result&);

}   // namespace kedge::engine
