// Runs the folds one after the other, or on the lanes of the device; the folds share the table on it.
#include "engine/model_selection/cross_validate.h"

#include <cmath>

#include "engine/comm/ranks.h"
#include "engine/model_selection/dealt_scores.h"
#include "engine/model_selection/lanes.h"

namespace kedge::engine {
namespace {

void emit_fold(const Context& ctx, const std::vector<const Scorer*>& scorers, const FoldScores& found) {
  if (!ctx.emit) return;
  for (std::size_t s = 0; s < scorers.size(); ++s) {
    ctx.emit(schema::MetricEvent{std::string(scorers[s]->name), found.test[s], ctx.fold});
    if (!found.train.empty()) ctx.emit(schema::MetricEvent{"train_" + std::string(scorers[s]->name), found.train[s], ctx.fold});
  }
  ctx.emit(schema::TimingEvent{"fit", found.timings.fit, ctx.fold});
  ctx.emit(schema::TimingEvent{"transform", found.timings.transform, ctx.fold});
  ctx.emit(schema::TimingEvent{"predict", found.timings.predict, ctx.fold});
  ctx.emit(schema::TimingEvent{"score", found.timings.score, ctx.fold});
}

void add_fold(const Context& ctx, const FoldScores& found, CrossValidation& result) {
  result.folds.push_back(found.timings);
  result.prepare += found.prepare;
  if (found.prepare > 0 && ctx.emit) ctx.emit(schema::TimingEvent{"prepare", found.prepare, -1});
  result.steps.resize(found.steps.size());
  for (std::size_t i = 0; i < found.steps.size(); ++i) result.steps[i] += found.steps[i];
}

}  // namespace

schema::Score summarize(std::vector<double> per_fold) {
  const auto n = static_cast<double>(per_fold.size());
  double sum = 0, squares = 0;
  for (double value : per_fold) sum += value;
  const double mean = sum / n;
  for (double value : per_fold) squares += (value - mean) * (value - mean);
  return {.perFold = std::move(per_fold), .mean = mean, .std = std::sqrt(squares / n)};
}

template <class T>
FoldScores fit_and_score(const Context& ctx, const SharedSteps& steps, const Fold<T>& fold,
                         const std::vector<const Scorer*>& scorers, bool return_train_score, ScoredRows* rows) {
  Chain<T> chain(steps);
  chain.fit(ctx, fold.train, fold.train_target);
  FoldScores found{.test = chain.score(ctx, fold.test, fold.test_target, scorers, rows)};
  const ChainTimings& t = chain.timings();
  found.timings = {.fit = t.fit, .transform = t.transform, .predict = t.predict, .score = t.score};
  found.prepare = t.prepare, found.steps = t.steps;
  if (return_train_score) found.train = chain.score(ctx, fold.train, fold.train_target, scorers);
  return found;
}

namespace {

// Takes scores of folds in their order.
struct FoldsDone {
  const std::vector<const Scorer*>& scorers;
  std::int64_t n_folds;
  std::vector<std::vector<double>> test, train;
  CrossValidation result = {};

  void add(const Context& ctx, const FoldScores& found) {
    Context fold = ctx;
    fold.fold = static_cast<std::int64_t>(result.folds.size());
    add_fold(ctx, found, result);
    for (std::size_t s = 0; s < scorers.size(); ++s) {
      test[s].push_back(found.test[s]);
      if (!found.train.empty()) train[s].push_back(found.train[s]);
    }
    emit_fold(fold, scorers, found);
    ctx.progress("fold", fold.fold + 1, n_folds, "folds");
  }
};

// One fold of a rank or a lane: what ScoreFold finds, kept for the thread of the job.
template <class ScoreFold>
void write_fold(DealtWriter& out, std::int64_t k, const ScoredRows* rows, const ScoreFold& score_fold) {
  DealtScore score;
  if (rows)
    score.rows = {
        .wants_labels = rows->wants_labels, .wants_scores = rows->wants_scores, .wants_outputs = rows->wants_outputs};
  score.scores = score_fold(out.context(), k, rows ? &score.rows : nullptr);
  out.add(score);
}

void take_folds(const Context& ctx, std::span<const std::byte> share, ScoredRows* rows, FoldsDone& done) {
  for (const DealtScore& score : dealt_scores(ctx, share)) {
    done.add(ctx, score.scores);
    if (rows) append_rows(score.rows, *rows);
  }
}

// Every rank does its folds and gets the scores of all, in their order.
template <class ScoreFold>
void score_on_ranks(const Context& ctx, Ranks& ranks, const std::vector<schema::Step>& steps,
                    const std::vector<Split>& splits, ScoredRows* rows, const ScoreFold& score_fold, FoldsDone& done) {
  std::vector<double> costs;
  for (const Split& split : splits) costs.push_back(predicted_cost(shared_steps(steps), split));
  const std::vector<std::int64_t> bounds = consecutive_shares(costs, ranks.size());
  const auto r = static_cast<std::size_t>(ranks.rank());
  const PartedBytes shares = ranks.share([&] {
    const RanksScope alone(nullptr);
    DealtWriter out(ctx);
    for (std::int64_t k = bounds[r]; k < bounds[r + 1]; ++k) write_fold(out, k, rows, score_fold);
    return out.take();
  });
  for (int from = 0; from < shares.size(); ++from) take_folds(ctx, shares.part(from), rows, done);
}

template <class ScoreFold>
void score_on_lanes(const Context& ctx, int n_lanes, ScoredRows* rows, const ScoreFold& score_fold, FoldsDone& done) {
  const auto make = [&](const Context& of_lane, std::int64_t k) {
    DealtWriter out(of_lane);
    write_fold(out, k, rows, score_fold);
    return out.take();
  };
  const auto take = [&](std::int64_t, std::span<const std::byte> made) { take_folds(ctx, made, rows, done); };
  deal_to_lanes(ctx, n_lanes, {.n = done.n_folds, .make = make, .take = take});
}

}   // namespace

template <class T>
CrossValidation cross_validate(const Context& ctx, const std::vector<schema::Step>& steps, const TaskData<T>& data,
                               const std::vector<Split>& splits, const std::vector<const Scorer*>& scorers,
                               bool return_train_score, ScoredRows* rows) {
  const auto n_folds = static_cast<std::int64_t>(splits.size());
  FoldsDone done{.scorers = scorers,
                 .n_folds = n_folds,
                 .test = std::vector<std::vector<double>>(scorers.size()),
                 .train = std::vector<std::vector<double>>(scorers.size())};
  ctx.progress("fold", 0, n_folds, "folds");
  const auto score_fold = [&](const Context& fold_ctx, std::int64_t k, ScoredRows* fold_rows) {
    Context fold = fold_ctx;
    fold.fold = k;
    return fit_and_score(fold, shared_steps(steps), Fold<T>(fold, data, splits[static_cast<std::size_t>(k)]), scorers,
                         return_train_score, fold_rows);
  };
  if (Ranks* const ranks = ranks_of_job()) {
    score_on_ranks(ctx, *ranks, steps, splits, rows, score_fold, done);
  } else if (const int n_lanes = data.lanes(ctx, n_folds); n_lanes > 1) {
    score_on_lanes(ctx, n_lanes, rows, score_fold, done);
  } else {
    for (std::int64_t k = 0; k < n_folds; ++k) done.add(ctx, score_fold(ctx, k, rows));
  }
  CrossValidation& result = done.result;
  for (std::size_t s = 0; s < scorers.size(); ++s) {
    const std::string name(scorers[s]->name);
    result.scores.emplace_back(name, summarize(std::move(done.test[s])));
    if (return_train_score) result.scores.emplace_back("train_" + name, summarize(std::move(done.train[s])));
  }
  return std::move(result);
}

template FoldScores fit_and_score(const Context&, const SharedSteps&, const Fold<float>&, const std::vector<const Scorer*>&, bool, ScoredRows*);
template FoldScores fit_and_score(const Context&, const SharedSteps&, const Fold<double>&, const std::vector<const Scorer*>&, bool, ScoredRows*);
template CrossValidation cross_validate(const Context&, const std::vector<schema::Step>&, const TaskData<float>&, const std::vector<Split>&,
                                        const std::vector<const Scorer*>&, bool, ScoredRows*);
template CrossValidation cross_validate(const Context&, const std::vector<schema::Step>&, const TaskData<double>&, const std::vector<Split>&,
                                        const std::vector<const Scorer*>&, bool, ScoredRows*);

}  // namespace kedge::engine
