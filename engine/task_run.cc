// Runs a task: splits the rows, fits a chain of estimators on one part, scores it on the other.
#include "engine/task_run.h"

#include <algorithm>

namespace kedge::engine {
namespace {

template <class T>
Chain<T> make_chain(const CheckedJob& job) {
  std::vector<std::unique_ptr<Estimator<T>>> steps;
  for (std::size_t i = 0; i < job.estimators.size(); ++i) {
    if constexpr (std::is_same_v<T, float>) {
      steps.push_back(job.estimators[i]->make_f32(job.spec.pipeline[i].params));
    } else {
      steps.push_back(job.estimators[i]->make_f64(job.spec.pipeline[i].params));
    }
  }
  return Chain<T>(std::move(steps));
}

// Estimator names; where one occurs several times, numbered in scikit-learn's way: "PCA-1", "PCA-2".
std::vector<std::string> step_names(const CheckedJob& job) {
  std::vector<std::string> names, numbered;
  for (const CatalogueEntry* entry : job.estimators) names.push_back(entry->info.name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto here = names.begin() + static_cast<std::ptrdiff_t>(i);
    const bool is_alone = std::count(names.begin(), names.end(), names[i]) == 1;
    numbered.push_back(is_alone ? names[i] : names[i] + "-" + std::to_string(1 + std::count(names.begin(), here, names[i])));
  }
  return numbered;
}

void set_step_timings(const CheckedJob& job, const std::vector<double>& seconds, schema::Result& result) {
  const std::vector<std::string> names = step_names(job);
  for (std::size_t i = 0; i < names.size(); ++i) result.timings.steps.push_back({names[i], seconds[i]});
}

template <class T>
void set_chain_outcome(const CheckedJob& job, const Chain<T>& chain, schema::Result& result) {
  const std::vector<std::string> names = step_names(job);
  for (std::size_t i = 0; i < names.size(); ++i) result.fitted.emplace_back(names[i], chain.step(i).attributes());
  const ChainTimings& t = chain.timings();
  result.timings.prepare = t.prepare, result.timings.fit = t.fit, result.timings.transform = t.transform;
  result.timings.predict = t.predict, result.timings.score = t.score;
  set_step_timings(job, t.steps, result);
}

void emit_timings(const Context& ctx, const schema::Timings& t) {
  if (!ctx.emit) return;
  if (t.prepare > 0) ctx.emit(schema::TimingEvent{"prepare", t.prepare, -1});
  ctx.emit(schema::TimingEvent{"fit", t.fit, -1});
  if (t.predict > 0) ctx.emit(schema::TimingEvent{"predict", t.predict, -1});
}

std::uint32_t split_seed(const Context& ctx, const std::optional<std::int64_t>& random_state) {
  return static_cast<std::uint32_t>(random_state.value_or(static_cast<std::int64_t>(ctx.seed)));
}

std::optional<SplitSize> split_size(const std::optional<schema::Value>& size) {
  if (!size || size->is_null()) return std::nullopt;
  if (const auto* rows = std::get_if<std::int64_t>(&size->data)) return SplitSize(*rows);
  return SplitSize(std::get<double>(size->data));
}

Split split_rows(const Context& ctx, const schema::FitScore& task, std::int64_t n_rows, const ClassTarget& target) {
  const SplitCounts counts = split_counts(n_rows, split_size(task.testSize), split_size(task.trainSize));
  if (!task.shuffle) return ordered_split(counts);
  const std::uint32_t seed = split_seed(ctx, task.randomState);
  if (!task.stratify) return shuffled_split(n_rows, counts, seed);
  return stratified_split(target.codes, static_cast<std::int32_t>(target.classes.size()), counts, seed);
}

std::vector<Split> split_rows(const Context& ctx, const schema::CrossValidate& task, std::int64_t n_rows, const ClassTarget& target) {
  std::optional<std::uint32_t> seed;
  if (task.shuffle) seed = split_seed(ctx, task.randomState);
  if (task.splitter == "KFold") return k_fold(n_rows, task.cv, seed);
  std::string warning;
  auto splits = stratified_k_fold(target.codes, static_cast<std::int32_t>(target.classes.size()), task.cv, seed, warning);
  if (!warning.empty()) ctx.warn(warning);
  return splits;
}

// The data of one run with the target's codes on the device.
template <class T>
struct LabelledInput {
  Array<std::int32_t> table_codes;
  LabelledTable<T> data;

  LabelledInput(const Context& ctx, const TaskInput<T>& input)
      : table_codes(ctx.memory(), input.target.codes),
        data{input.table, input.target.codes, table_codes, input.target.classes} {}
};

template <class T>
void run(const Context& ctx, const schema::Fit&, const TaskInput<T>& input, schema::Result& result) {
  Chain<T> chain = make_chain<T>(input.job);
  const Array<std::int32_t> table_codes(ctx.memory(), input.target.codes);
  chain.fit(ctx, Samples<T>{.table = input.table},
            Target{.codes = input.target.codes, .table_codes = &table_codes, .classes = input.target.classes});
  set_chain_outcome(input.job, chain, result);
  emit_timings(ctx, result.timings);
}

template <class T>
void run(const Context& ctx, const schema::FitScore& task, const TaskInput<T>& input, schema::Result& result) {
  const Split split = split_rows(ctx, task, input.table->X.rows(), input.target);
  const LabelledInput<T> labelled(ctx, input);
  Chain<T> chain = make_chain<T>(input.job);
  chain.fit(ctx, labelled.data.samples(ctx, split.train), labelled.data.target(split.train));
  const std::vector<double> scores =
      chain.score(ctx, labelled.data.samples(ctx, split.test), labelled.data.target(split.test), input.job.scorers);
  for (std::size_t s = 0; s < scores.size(); ++s) {
    const std::string name(input.job.scorers[s]->name);
    if (ctx.emit) ctx.emit(schema::MetricEvent{name, scores[s], -1});
    result.scores.emplace_back(name, summarize({scores[s]}));
  }
  set_chain_outcome(input.job, chain, result);
  emit_timings(ctx, result.timings);
}

template <class T>
void run(const Context& ctx, const schema::CrossValidate& task, const TaskInput<T>& input, schema::Result& result) {
  const std::vector<Split> splits = split_rows(ctx, task, input.table->X.rows(), input.target);
  const LabelledInput<T> labelled(ctx, input);
  CrossValidation cv = cross_validate<T>(ctx, [&] { return make_chain<T>(input.job); }, labelled.data, splits, input.job.scorers,
                                         task.returnTrainScore);
  result.scores = std::move(cv.scores);
  schema::Timings& t = result.timings;
  t.prepare = cv.prepare;
  for (const schema::FoldTimings& fold : cv.folds) {
    t.fit += fold.fit, t.transform += fold.transform, t.predict += fold.predict, t.score += fold.score;
  }
  t.folds = std::move(cv.folds);
  set_step_timings(input.job, cv.steps, result);
}

}  // namespace

template <class T>
void run_task(const Context& ctx, const TaskInput<T>& input, schema::Result& result) {
  std::visit([&](const auto& task) { run(ctx, task, input, result); }, input.job.spec.task);
}

template void run_task(const Context&, const TaskInput<float>&, schema::Result&);
template void run_task(const Context&, const TaskInput<double>&, schema::Result&);

}  // namespace kedge::engine
