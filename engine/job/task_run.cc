// Runs a task: splits the rows, fits a chain of estimators on one part, scores it on the other.
#include "engine/job/task_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "engine/comm/ranks.h"
#include "engine/job/curves.h"
#include "engine/job/dealt.h"
#include "engine/job/evaluation.h"
#include "engine/job/fitted_size.h"
#include "engine/job/inspection.h"
#include "engine/job/param_path.h"
#include "engine/job/refuse.h"
#include "engine/job/split_check.h"
#include "engine/job/task_parts.h"
#include "engine/model_selection/chain_predictions.h"
#include "engine/model_selection/search.h"
#include "engine/model_selection/stopwatch.h"

namespace kedge::engine {
namespace {

using schema::Value;

// Estimator names; where one occurs several times, numbered in scikit-learn's way: "PCA-1", "PCA-2".
std::vector<std::string> result_names(const std::vector<schema::Step>& steps) {
  std::vector<std::string> names, numbered;
  for (const schema::Step& step : steps) names.push_back(step.estimator);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto here = names.begin() + static_cast<std::ptrdiff_t>(i);
    const bool is_alone = std::count(names.begin(), names.end(), names[i]) == 1;
    numbered.push_back(is_alone ? names[i] : names[i] + "-" + std::to_string(1 + std::count(names.begin(), here, names[i])));
  }
  return numbered;
}

void set_step_timings(const std::vector<schema::Step>& steps, const std::vector<double>& seconds, schema::Result& result) {
  const std::vector<std::string> names = result_names(steps);
  for (std::size_t i = 0; i < names.size(); ++i) result.timings.steps.push_back({names[i], seconds[i]});
}

template <class T>
void set_chain_outcome(const std::vector<schema::Step>& steps, const Chain<T>& chain, schema::Result& result) {
  const std::vector<std::string> names = result_names(steps);
  for (std::size_t i = 0; i < names.size(); ++i) result.fitted.emplace_back(names[i], chain.fitted(i));
  require_small(result.fitted);
  const ChainTimings& t = chain.timings();
  result.timings.prepare += t.prepare, result.timings.fit += t.fit, result.timings.transform += t.transform;
  result.timings.predict += t.predict, result.timings.score += t.score;
  set_step_timings(steps, t.steps, result);
}

void emit_timings(const Context& ctx, const schema::Timings& t) {
  if (!ctx.emit) return;
  if (t.prepare > 0) ctx.emit(schema::TimingEvent{"prepare", t.prepare, -1});
  ctx.emit(schema::TimingEvent{"fit", t.fit, -1});
  if (t.predict > 0) ctx.emit(schema::TimingEvent{"predict", t.predict, -1});
}

// Whether this rank of the job has more to do than to help with a fit.
bool is_first_rank() {
  const Ranks* const ranks = ranks_of_job();
  return !ranks || ranks->is_first();
}

// Fits with all ranks where they share the fit. Else on the first alone, which says so, or on each alone where all of
// them need the fitted chain.
template <class T>
void fit_chain(const Context& ctx, const std::vector<schema::Step>& steps, Chain<T>& chain, const Samples<T>& X,
               const Target& y, bool all_need_it = false) {
  if (fit_is_dealt(steps, ctx.device)) return chain.fit(ctx, X, y);
  if (!is_first_rank() && !all_need_it) return;
  if (const Ranks* const ranks = ranks_of_job(); ranks && !all_need_it && ctx.emit)
    ctx.emit(schema::LogEvent{"info", fmt::format("the first of {} ranks makes this fit alone", ranks->size())});
  const RanksScope alone(nullptr);
  chain.fit(ctx, X, y);
}

// Fits one pipeline on all rows.
template <class T>
void fit_all(const Context& ctx, const std::vector<schema::Step>& steps, const TaskInput<T>& input, const TaskData<T>& data,
             schema::Result& result) {
  Chain<T> chain(steps);
  fit_chain(ctx, steps, chain, data.all(), data.all_targets());
  if (input.fitted && (is_first_rank() || reads_own_rows(input.job.spec))) input.fitted(steps, chain);
  if (!is_first_rank()) return;
  set_chain_outcome(steps, chain, result);
}

ScoredRows* kept(ScoredRows& rows) {
  return rows.wants_labels || rows.wants_scores || rows.wants_outputs ? &rows : nullptr;
}

template <class T>
schema::ValueMap evaluated(const ScoredRows& rows, const TaskInput<T>& input) {
  if (rows.wants_outputs) return output_scores_of(rows, input.target.outputs, input.job.scorers);
  return evaluation_of(rows, input.target.classes);
}

template <class T>
void run(const Context& ctx, const schema::Fit&, const TaskInput<T>& input, const TaskData<T>& data, schema::Result& result) {
  fit_all(ctx, input.job.spec.pipeline, input, data, result);
  emit_timings(ctx, result.timings);
}

template <class T>
void run(const Context& ctx, const schema::FitScore& task, const TaskInput<T>& input, const TaskData<T>& data, schema::Result& result) {
  const Split split = make_split(ctx, task, data.n_rows(), input.target);
  const bool all_predict = deals_predictions(ctx, std::ssize(split.test));
  Chain<T> chain(input.job.spec.pipeline);
  fit_chain(ctx, input.job.spec.pipeline, chain, data.rows(ctx, split.train), data.targets(split.train), all_predict);
  if (!all_predict && !is_first_rank()) return;
  ScoredRows rows{.wants_labels = task.confusionMatrix,
                  .wants_scores = task.curves,
                  .wants_outputs = !input.target.outputs.empty()};
  const std::vector<double> scores = chain.score(ctx, data.rows(ctx, split.test), data.targets(split.test), input.job.scorers, kept(rows));
  if (!is_first_rank()) return;
  result.evaluation = evaluated(rows, input);
  for (std::size_t s = 0; s < scores.size(); ++s) {
    const std::string name(input.job.scorers[s]->name);
    if (ctx.emit) ctx.emit(schema::MetricEvent{name, scores[s], -1});
    result.scores.emplace_back(name, summarize({scores[s]}));
  }
  set_chain_outcome(input.job.spec.pipeline, chain, result);
  emit_timings(ctx, result.timings);
}

template <class T>
void run(const Context& ctx, const schema::CrossValidate& task, const TaskInput<T>& input, const TaskData<T>& data,
         schema::Result& result) {
  const std::vector<Split> splits = make_splits(ctx, task, data.n_rows(), input.target, input.job.last().classifies);
  ScoredRows rows{.wants_labels = task.confusionMatrix,
                  .wants_scores = task.curves,
                  .wants_outputs = !input.target.outputs.empty()};
  CrossValidation cv = cross_validate<T>(ctx, input.job.spec.pipeline, data, splits, input.job.scorers, task.returnTrainScore, kept(rows));
  result.evaluation = evaluated(rows, input);
  result.scores = std::move(cv.scores);
  result.timings.prepare = cv.prepare;
  for (const schema::FoldTimings& fold : cv.folds) add_fold(fold, result.timings);
  result.timings.folds = std::move(cv.folds);
  set_step_timings(input.job.spec.pipeline, cv.steps, result);
}

// --- searches ---

// Which scorer chooses the best candidate; nothing: none does.
std::optional<std::size_t> deciding_scorer(const Value& refit, const std::vector<const Scorer*>& scorers) {
  if (const auto* name = std::get_if<std::string>(&refit.data)) {
    for (std::size_t s = 0; s < scorers.size(); ++s)
      if (scorers[s]->name == *name) return s;
  }
  return scorers.size() == 1 ? std::optional<std::size_t>(0) : std::nullopt;
}

template <class T>
void finish_search(const Context& ctx, const std::vector<Round>& rounds, std::size_t best, double best_score, bool refit,
                   const SearchSetup& setup, const TaskInput<T>& input, const TaskData<T>& data, schema::Result& result) {
  schema::SearchResult& search = result.search.emplace();
  const Round& last = rounds.back();
  std::size_t before = 0;
  for (const Round& round : rounds) {
    add_round(round, result.timings);
    if (&round != &last) before += round.contenders.size;
  }
  search.bestIndex = static_cast<std::int64_t>(before + best);
  search.bestParams = last.contenders.params(best), search.bestScore = best_score;
  search.cvResults = cv_results(rounds, setup, rounds.size() > 1 || last.n_resources > 0);
  set_scores(last.scores[best], setup.scorers, result);
  if (!refit) return;
  Stopwatch watch(ctx);
  fit_all(ctx, copied(last.contenders.pipeline(best)), input, data, result);
  search.refit = watch.lap();
}

// The candidates of a search that are left, by place, and the parameter that is set in all of them. Borrows the job.
class Survivors {
 public:
  explicit Survivors(const CheckedJob& job) : job_(&job), places_(job.candidates.size()) {
    std::iota(places_.begin(), places_.end(), std::size_t{0});
  }
  Survivors at(const std::vector<std::size_t>& positions) const {
    Survivors chosen(*this);
    chosen.places_.clear();
    for (const std::size_t i : positions) chosen.places_.push_back(places_[i]);
    return chosen;
  }
  void set_resource(const std::string& path, std::int64_t amount) { resource_ = {{path, amount}}; }

  // Of these candidates, also of those that do not survive.
  Contenders contenders() const {
    const auto kept = std::make_shared<const Survivors>(*this);   // by both functions
    return {.size = places_.size(),
            .pipeline = [kept](std::size_t i) { return with_params(shared_steps(kept->job_->spec.pipeline), kept->params(i), "task"); },
            .params = [kept](std::size_t i) { return kept->params(i); }};
  }

 private:
  Candidate params(std::size_t i) const {
    Candidate params = job_->candidates[places_[i]];
    params.insert(params.end(), resource_.begin(), resource_.end());
    return params;
  }

  const CheckedJob* job_;
  std::vector<std::size_t> places_;
  schema::ValueMap resource_;
};

template <class T>
void run_candidates(const Context& ctx, const schema::CrossValidate& cv, const Value& error_score, const Value& refit,
                    const TaskInput<T>& input, const TaskData<T>& data, schema::Result& result) {
  const CheckedJob& job = input.job;
  SearchSetup setup = setup_of(job, cv, error_score);
  setup.decides = deciding_scorer(refit, setup.scorers).value_or(0);
  const std::vector<Split> splits = make_splits(ctx, cv, data.n_rows(), input.target, job.last().classifies);
  const std::vector<Round> rounds{score_candidates(ctx, Survivors(job).contenders(), data, splits, setup)};
  const std::vector<double> means = mean_test_scores(rounds[0], setup.decides);
  const std::size_t best = best_position(means);
  const bool wants_refit = refit != Value(false);
  finish_search(ctx, rounds, best, means[best], wants_refit, setup, input, data, result);
}

template <class T>
void run(const Context& ctx, const schema::GridSearch& task, const TaskInput<T>& input, const TaskData<T>& data, schema::Result& result) {
  run_candidates(ctx, task.crossValidate, task.errorScore, task.refit, input, data, result);
}

template <class T>
void run(const Context& ctx, const schema::RandomizedSearch& task, const TaskInput<T>& input, const TaskData<T>& data,
         schema::Result& result) {
  run_candidates(ctx, task.crossValidate, task.errorScore, task.refit, input, data, result);
}

Halving plan_of(const schema::HalvingGridSearch& task, const CheckedJob& job, std::int64_t n_rows, std::size_t n_splits,
                const TaskTarget& target) {
  const bool by_rows = task.resource == "n_samples";
  const std::int64_t max_resources = task.maxResources.value_or(n_rows);
  std::int64_t min_resources = by_rows ? static_cast<std::int64_t>(2 * n_splits) : 1;
  if (by_rows && job.last().classifies) min_resources *= static_cast<std::int64_t>(target.classes.size());
  if (const auto* given = std::get_if<std::int64_t>(&task.minResources.data)) min_resources = *given;
  if (by_rows && max_resources > n_rows) {
    refuse("task.halvingGridSearch.maxResources", fmt::format("maxResources is {}, but there are {} rows", max_resources, n_rows));
  }
  if (min_resources > max_resources) {
    refuse("task.halvingGridSearch.minResources",
           fmt::format("minResources is {}, must be at most maxResources, {}", min_resources, max_resources));
  }
  const bool exhaust = task.minResources == Value("exhaust");
  return halving_plan(static_cast<std::int64_t>(job.candidates.size()), task.factor, min_resources, max_resources, exhaust,
                      task.aggressiveElimination);
}

// Of all rounds: of each round's candidates the best 1/factor go on.
std::int64_t fits_of(const Halving& plan, std::size_t n_candidates, std::size_t n_splits) {
  std::int64_t fits = 0, left = static_cast<std::int64_t>(n_candidates);
  for (std::int64_t i = 0; i < plan.n_iterations; ++i, left = (left + plan.factor - 1) / plan.factor)
    fits += left * static_cast<std::int64_t>(n_splits);
  return fits;
}

template <class T>
void run(const Context& ctx, const schema::HalvingGridSearch& task, const TaskInput<T>& input, const TaskData<T>& data,
         schema::Result& result) {
  const CheckedJob& job = input.job;
  SearchSetup setup = setup_of(job, task.crossValidate, task.errorScore);
  const std::vector<Split> splits = make_splits(ctx, task.crossValidate, data.n_rows(), input.target, job.last().classifies);
  const Halving plan = plan_of(task, job, data.n_rows(), splits.size(), input.target);
  const std::uint32_t seed = static_cast<std::uint32_t>(task.randomState.value_or(static_cast<std::int64_t>(ctx.seed)));
  setup.fits_total = fits_of(plan, job.candidates.size(), splits.size());
  Survivors left(job);
  std::vector<Round> rounds;
  std::vector<double> means;
  for (std::int64_t i = 0; i < plan.n_iterations; ++i) {
    if (i > 0) left = left.at(keep_best(means, plan.factor));
    const std::int64_t amount = plan.resources(i);
    const bool by_rows = task.resource == "n_samples";
    if (!by_rows) left.set_resource(task.resource, amount);
    const auto fraction = static_cast<double>(amount) / static_cast<double>(data.n_rows());
    rounds.push_back(score_candidates(ctx, left.contenders(), data, by_rows ? subsampled(splits, fraction, seed) : splits, setup));
    rounds.back().iteration = i, rounds.back().n_resources = amount;
    setup.fits_before += static_cast<std::int64_t>(rounds.back().contenders.size * splits.size());
    means = mean_test_scores(rounds.back(), 0);
  }
  const std::size_t best = best_position(means);
  finish_search(ctx, rounds, best, means[best], task.refit, setup, input, data, result);
}

// --- curves and permutation tests ---

template <class T>
void run(const Context& ctx, const schema::LearningCurve& task, const TaskInput<T>& input, const TaskData<T>& data,
         schema::Result& result) {
  learning_curve(ctx, task, input, data, result);
}

template <class T>
void run(const Context& ctx, const schema::ValidationCurve& task, const TaskInput<T>& input, const TaskData<T>& data,
         schema::Result& result) {
  validation_curve(ctx, task, input, data, result);
}

template <class T>
void run(const Context& ctx, const schema::PermutationTestScore& task, const TaskInput<T>& input,
         const TaskData<T>& data, schema::Result& result) {
  permutation_test(ctx, task, input, data, result);
}

// --- inspections ---

// Fits on a part of the rows and examines the rest, or does both with all rows. inspect(chain, rows, target).
template <class T, class Inspect>
void fit_and_inspect(const Context& ctx, const std::optional<schema::FitScore>& parts, const TaskInput<T>& input,
                     const TaskData<T>& data, schema::Result& result, Inspect inspect) {
  const std::vector<schema::Step>& steps = input.job.spec.pipeline;
  Chain<T> chain(steps);
  std::optional<Split> split;
  if (parts) split = make_split(ctx, *parts, data.n_rows(), input.target);
  if (split) fit_chain(ctx, steps, chain, data.rows(ctx, split->train), data.targets(split->train));
  else fit_chain(ctx, steps, chain, data.all(), data.all_targets());
  if (!is_first_rank()) return;
  const RanksScope alone(nullptr);
  if (!split && input.fitted) input.fitted(steps, chain);
  if (split) inspect(chain, data.rows(ctx, split->test), data.targets(split->test));
  else inspect(chain, data.all(), data.all_targets());
  set_chain_outcome(steps, chain, result);
  emit_timings(ctx, result.timings);
}

template <class T>
void run(const Context& ctx, const schema::PermutationImportance& task, const TaskInput<T>& input,
         const TaskData<T>& data, schema::Result& result) {
  fit_and_inspect(ctx, task.fitScore, input, data, result,
                  [&](Chain<T>& chain, const Samples<T>& rows, const Target& target) {
                    permutation_importance(ctx, task, input.job.scorers, chain, rows, target, result);
                  });
}

template <class T>
void run(const Context& ctx, const schema::PartialDependence& task, const TaskInput<T>& input, const TaskData<T>& data,
         schema::Result& result) {
  fit_and_inspect(ctx, task.fitScore, input, data, result,
                  [&](Chain<T>& chain, const Samples<T>& rows, const Target& target) {
                    partial_dependence(ctx, task, chain, rows, target, result);
                  });
}

void require_two_classes(const CheckedJob& job, const TaskTarget& target) {
  for (const Scorer* scorer : job.scorers) {
    if (scorer->two_classes_only && target.classes.size() > 2) {
      refuse("task", fmt::format("'{}' takes two classes, the target has {}: take its _macro, _micro, _weighted, _ovr or _ovo form",
                                 scorer->name, target.classes.size()));
    }
    for (const TargetOutput& output : target.outputs)
      if (scorer->columns_are_labels && output.n_classes() != 2)
        refuse("task", fmt::format("'{}' of several targets takes two classes of each, '{}' has {}", scorer->name,
                                   output.name, output.n_classes()));
  }
}

}  // namespace

template <class T>
void run_task(const Context& ctx, const TaskInput<T>& input, schema::Result& result) {
  require_two_classes(input.job, input.target);
  const TaskData<T> data(input.table, input.target, input.fit_bytes);
  const auto run_it = [&](const auto& task) {   // tasks with a stored model fit nothing and do not come here
    if constexpr (requires { run(ctx, task, input, data, result); }) run(ctx, task, input, data, result);
  };
  std::visit(run_it, input.job.spec.task);
}

template void run_task(const Context&, const TaskInput<float>&, schema::Result&);
template void run_task(const Context&, const TaskInput<double>&, schema::Result&);

}  // namespace kedge::engine
