// Learning curves, validation curves and permutation tests: sklearn/model_selection/_validation.py, 1.9.
#include "engine/job/curves.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "engine/comm/ranks.h"
#include "engine/core/chosen.h"
#include "engine/core/legacy_random.h"
#include "engine/job/param_path.h"
#include "engine/job/refuse.h"
#include "engine/job/split_check.h"
#include "engine/job/task_parts.h"
#include "engine/model_selection/lanes.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr const char* kTrainSizes = "task.learningCurve.trainSizes";

double as_double(const Value& number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number.data)) return static_cast<double>(*whole);
  return std::get<double>(number.data);
}

bool is_fraction(const Value& size) {
  return std::holds_alternative<double>(size.data);
}

// numpy.linspace(0.1, 1.0, 5).
std::vector<double> usual_fractions() {
  constexpr int kSizes = 5;
  std::vector<double> fractions;
  for (int i = 0; i + 1 < kSizes; ++i) fractions.push_back(i * (0.9 / (kSizes - 1)) + 0.1);
  fractions.push_back(1.0);
  return fractions;
}

// Points of a curve, each with its folds.
using Points = std::vector<std::vector<FoldScores>>;
using Read = std::function<double(const FoldScores&)>;

// A list of the folds for each point.
Value matrix_of(const Points& points, const Read& read) {
  ValueList rows;
  for (const std::vector<FoldScores>& folds : points) {
    std::vector<double> row;
    for (const FoldScores& fold : folds) row.push_back(read(fold));
    rows.emplace_back(std::move(row));
  }
  return rows;
}

void add_points(const Points& points, const std::vector<const Scorer*>& scorers, ValueMap& curve) {
  ValueMap train, test;
  for (std::size_t s = 0; s < scorers.size(); ++s) {
    train.emplace_back(std::string(scorers[s]->name),
                       matrix_of(points, [s](const FoldScores& fold) { return fold.train[s]; }));
    test.emplace_back(std::string(scorers[s]->name),
                      matrix_of(points, [s](const FoldScores& fold) { return fold.test[s]; }));
  }
  curve.emplace_back("train_scores", std::move(train));
  curve.emplace_back("test_scores", std::move(test));
  const auto fit_time = [](const FoldScores& f) { return f.prepare + f.timings.fit + f.timings.transform; };
  curve.emplace_back("fit_times", matrix_of(points, fit_time));
  curve.emplace_back("score_times",
                     matrix_of(points, [](const FoldScores& f) { return f.timings.predict + f.timings.score; }));
}

// Every fold with its first rows alone, one number of rows after the other.
std::vector<Split> beginnings(const std::vector<Split>& splits, const std::vector<std::int64_t>& counts) {
  std::vector<Split> all;
  for (const std::int64_t count : counts) {
    for (const Split& split : splits) {
      const auto rows = std::min(static_cast<std::ptrdiff_t>(count), static_cast<std::ptrdiff_t>(split.train.size()));
      all.push_back({.train = {split.train.begin(), split.train.begin() + rows}, .test = split.test});
    }
  }
  return all;
}

SearchSetup curve_setup(const CheckedJob& job, const schema::CrossValidate& cv, const Value& error_score) {
  SearchSetup setup = setup_of(job, cv, error_score);
  setup.return_train_score = true, setup.reports_best = false;
  return setup;
}

// --- permutation tests ---

std::vector<std::int64_t> shuffled(LegacyRandom& random, std::vector<std::int64_t> rows) {
  random.shuffle(std::span(rows));
  return rows;
}

// Where each row's target comes from; groups keep theirs.
std::vector<std::int64_t> target_rows(const TaskTarget& target, std::int64_t n_rows, LegacyRandom& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n_rows));
  std::iota(order.begin(), order.end(), 0);
  if (target.groups.empty()) return shuffled(random, std::move(order));
  std::vector<std::vector<std::int64_t>> members(1 + static_cast<std::size_t>(std::ranges::max(target.groups)));
  for (std::size_t i = 0; i < order.size(); ++i)
    members[static_cast<std::size_t>(target.groups[i])].push_back(order[i]);
  for (const std::vector<std::int64_t>& rows : members) {
    const std::vector<std::int64_t> drawn = shuffled(random, rows);
    for (std::size_t k = 0; k < rows.size(); ++k) order[static_cast<std::size_t>(rows[k])] = drawn[k];
  }
  return order;
}

TaskTarget permuted(const TaskTarget& target, const std::vector<std::int64_t>& rows) {
  return {{.codes = chosen(target.codes, rows),
           .classes = target.classes,
           .values = chosen(target.values, rows),
           .weights = target.weights},
          target.kind,
          target.groups};
}

// Mean scores of the folds with one permuted target, by scorer. Folds of classes follow the permuted ones.
template <class T>
std::vector<double> mean_scores(const Context& ctx, const schema::CrossValidate& cv, const TaskInput<T>& input,
                                const TaskTarget& target) {
  const CheckedJob& job = input.job;
  const TaskData<T> data(input.table, target);
  const std::vector<Split> splits = make_splits(ctx, cv, data.n_rows(), target, job.last().classifies);
  std::vector<double> means(job.scorers.size());
  const SharedSteps steps = shared_steps(job.spec.pipeline);
  for (const Split& split : splits) {
    const FoldScores found = fit_and_score(ctx, steps, Fold<T>(ctx, data, split), job.scorers, false);
    for (std::size_t s = 0; s < means.size(); ++s) means[s] += found.test[s];
  }
  for (double& mean : means) mean /= static_cast<double>(splits.size());
  return means;
}

// What fits say of permuted targets, they have said of the target itself.
Context without_warnings(const Context& ctx) {
  Context quiet = ctx;
  quiet.emit = nullptr;
  return quiet;
}

// The rows of each permutation, which are drawn one after the other. Any number of threads may take some.
class DrawnRows {
 public:
  DrawnRows(const TaskTarget& target, std::int64_t n_rows, std::uint32_t seed)
      : target_(target), n_rows_(n_rows), seed_(seed) {}

  // Of permutation p. Those that are not taken in ascending order, up to a few, are drawn again.
  std::vector<std::int64_t> take(std::int64_t p) {
    const std::lock_guard lock(mutex_);
    if (p < drawn_ && !ahead_.contains(p)) random_ = LegacyRandom(seed_), drawn_ = 0, ahead_.clear();
    for (; drawn_ <= p; ++drawn_) ahead_[drawn_] = target_rows(target_, n_rows_, random_);
    return std::move(ahead_.extract(p).mapped());
  }

 private:
  const TaskTarget& target_;
  const std::int64_t n_rows_;
  const std::uint32_t seed_;
  std::mutex mutex_;   // guards what follows
  LegacyRandom random_{seed_};
  std::int64_t drawn_ = 0;
  std::map<std::int64_t, std::vector<std::int64_t>> ahead_;   // drawn and not taken
};

// The mean scores of all permutations, with several at a time in lanes of the device.
template <class T>
std::vector<double> scores_on_lanes(const Context& ctx, int n_lanes, const schema::PermutationTestScore& task,
                                    const TaskInput<T>& input, std::int64_t n_rows, std::uint32_t seed) {
  DrawnRows drawn(input.target, n_rows, seed);
  std::vector<double> scores;
  LaneWork work{.n = task.nPermutations};
  work.make = [&](const Context& of_lane, std::int64_t p) {
    ByteWriter out;
    out.numbers(
        mean_scores(without_warnings(of_lane), task.crossValidate, input, permuted(input.target, drawn.take(p))));
    return out.take();
  };
  work.take = [&](std::int64_t p, std::span<const std::byte> made) {
    const std::vector<double> means = ByteReader(made).numbers<double>();
    scores.insert(scores.end(), means.begin(), means.end());
    ctx.progress("permutation", p + 1, work.n, "permutations");
  };
  deal_to_lanes(ctx, n_lanes, work);
  return scores;
}

// The mean scores of all permutations, in their order. With ranks, each does the fits of its share.
template <class T>
std::vector<double> permutation_scores(const Context& ctx, const schema::PermutationTestScore& task,
                                       const TaskInput<T>& input, const TaskData<T>& data) {
  const auto n = task.nPermutations;
  const std::int64_t n_rows = data.n_rows();
  const auto seed = static_cast<std::uint32_t>(task.randomState.value_or(static_cast<std::int64_t>(ctx.seed)));
  const auto score_share = [&](std::int64_t begin, std::int64_t end) {
    LegacyRandom random(seed);
    std::vector<double> scores;
    for (std::int64_t p = 0; p < end; ++p) {
      ctx.check_stop();
      const std::vector<std::int64_t> rows = target_rows(input.target, n_rows, random);
      if (p < begin) continue;
      const std::vector<double> means =
          mean_scores(without_warnings(ctx), task.crossValidate, input, permuted(input.target, rows));
      scores.insert(scores.end(), means.begin(), means.end());
      ctx.progress("permutation", (p + 1 - begin) * n / (end - begin), n, "permutations");
    }
    return scores;
  };
  ctx.progress("permutation", 0, n, "permutations");
  Ranks* const ranks = ranks_of_job();
  if (!ranks) {
    const int n_lanes = data.lanes(ctx, n);
    return n_lanes > 1 ? scores_on_lanes(ctx, n_lanes, task, input, n_rows, seed) : score_share(0, n);
  }
  const std::vector<std::int64_t> bounds =
      consecutive_shares(std::vector<double>(static_cast<std::size_t>(n), 1.0), ranks->size());
  const PartedBytes shares = ranks->share([&] {
    const RanksScope alone(nullptr);
    const auto r = static_cast<std::size_t>(ranks->rank());
    ByteWriter out;
    out.numbers(score_share(bounds[r], bounds[r + 1]));
    return out.take();
  });
  std::vector<double> scores;
  for (int from = 0; from < shares.size(); ++from) {
    const std::vector<double> part = ByteReader(shares.part(from)).numbers<double>();
    scores.insert(scores.end(), part.begin(), part.end());
  }
  return scores;
}

}   // namespace

void check_train_sizes(const ValueList& sizes, const std::string& where) {
  const bool are_fractions = std::ranges::any_of(sizes, is_fraction);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", where, i);
    const bool is_number = is_fraction(sizes[i]) || std::holds_alternative<std::int64_t>(sizes[i].data);
    if (!is_number)
      refuse(path, fmt::format("a train size is {}, must be a number", schema::to_string(sizes[i])),
             schema::ErrorCode::kWrongType);
    const double size = as_double(sizes[i]);
    if (are_fractions && !(size > 0 && size <= 1))
      refuse(path, fmt::format("a train size is {}, among fractions it must be above 0 and at most 1",
                               schema::to_string(sizes[i])));
    if (!are_fractions && size < 1)
      refuse(path, fmt::format("a train size is {}, must be at least 1 row", schema::to_string(sizes[i])));
  }
}

std::vector<std::int64_t> train_counts(const ValueList& sizes, std::int64_t most) {
  std::vector<std::int64_t> counts;
  const auto add_fraction = [&](double fraction) {
    counts.push_back(
        std::clamp<std::int64_t>(static_cast<std::int64_t>(fraction * static_cast<double>(most)), 1, most));
  };
  if (sizes.empty()) {
    for (const double fraction : usual_fractions()) add_fraction(fraction);
  } else if (std::ranges::any_of(sizes, is_fraction)) {
    for (const Value& size : sizes) add_fraction(as_double(size));
  } else {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      counts.push_back(std::get<std::int64_t>(sizes[i].data));
      if (counts.back() > most) {
        refuse(fmt::format("{}[{}]", kTrainSizes, i),
               fmt::format("a train size is {}, the first fold has {} train rows", counts.back(), most),
               schema::ErrorCode::kBadData);
      }
    }
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

template <class T>
void learning_curve(const Context& ctx, const schema::LearningCurve& task, const TaskInput<T>& input,
                    const TaskData<T>& data, schema::Result& result) {
  const CheckedJob& job = input.job;
  const SearchSetup setup = curve_setup(job, task.crossValidate, task.errorScore);
  std::vector<Split> splits = make_splits(ctx, task.crossValidate, data.n_rows(), input.target, job.last().classifies);
  const std::vector<std::int64_t> counts =
      train_counts(task.trainSizes, static_cast<std::int64_t>(splits.front().train.size()));
  if (!task.trainSizes.empty() && counts.size() < task.trainSizes.size())
    ctx.warn(fmt::format("{} of the {} train sizes are the same number of rows as another",
                         task.trainSizes.size() - counts.size(), task.trainSizes.size()));
  if (task.shuffle) {
    LegacyRandom random(static_cast<std::uint32_t>(task.randomState.value_or(static_cast<std::int64_t>(ctx.seed))));
    for (Split& split : splits) random.shuffle(std::span(split.train));
  }
  const auto n_folds = static_cast<std::ptrdiff_t>(splits.size());
  Contenders one{.size = 1,
                 .pipeline = [&](std::size_t) { return shared_steps(job.spec.pipeline); },
                 .params = [](std::size_t) { return Candidate(); }};
  Round round = score_candidates(ctx, std::move(one), data, beginnings(splits, counts), setup);
  add_round(round, result.timings);
  Points points;
  for (auto at = round.scores[0].begin(); at != round.scores[0].end(); at += n_folds)
    points.emplace_back(std::move_iterator(at), std::move_iterator(at + n_folds));
  ValueMap curve{{"train_sizes", ValueList(counts.begin(), counts.end())}};
  add_points(points, setup.scorers, curve);
  set_scores(points.back(), setup.scorers, result);
  result.evaluation.emplace_back("learning_curve", std::move(curve));
}

template <class T>
void validation_curve(const Context& ctx, const schema::ValidationCurve& task, const TaskInput<T>& input,
                      const TaskData<T>& data, schema::Result& result) {
  const CheckedJob& job = input.job;
  const SearchSetup setup = curve_setup(job, task.crossValidate, task.errorScore);
  const std::vector<Split> splits =
      make_splits(ctx, task.crossValidate, data.n_rows(), input.target, job.last().classifies);
  Contenders values{
      .size = job.candidates.size(),
      .pipeline =
          [&](std::size_t i) { return with_params(shared_steps(job.spec.pipeline), job.candidates[i], "task"); },
      .params = [&](std::size_t i) { return job.candidates[i]; }};
  const Round round = score_candidates(ctx, std::move(values), data, splits, setup);
  add_round(round, result.timings);
  ValueMap curve{{"param_name", task.paramName}, {"param_range", task.paramRange}};
  add_points(round.scores, setup.scorers, curve);
  set_scores(round.scores[best_position(mean_test_scores(round, 0))], setup.scorers, result);
  result.evaluation.emplace_back("validation_curve", std::move(curve));
}

template <class T>
void permutation_test(const Context& ctx, const schema::PermutationTestScore& task, const TaskInput<T>& input,
                      const TaskData<T>& data, schema::Result& result) {
  const CheckedJob& job = input.job;
  const std::vector<Split> splits =
      make_splits(ctx, task.crossValidate, data.n_rows(), input.target, job.last().classifies);
  CrossValidation cv = cross_validate<T>(ctx, job.spec.pipeline, data, splits, job.scorers, false);
  result.timings.prepare = cv.prepare;
  for (const schema::FoldTimings& fold : cv.folds) add_fold(fold, result.timings);
  result.timings.folds = std::move(cv.folds), result.scores = std::move(cv.scores);
  const std::vector<double> means = permutation_scores(ctx, task, input, data);
  ValueMap tests;
  for (std::size_t s = 0; s < job.scorers.size(); ++s) {
    const double score = result.scores[s].second.mean;
    std::vector<double> scores;
    for (std::size_t i = s; i < means.size(); i += job.scorers.size()) scores.push_back(means[i]);
    const auto as_good = std::ranges::count_if(scores, [&](double by_chance) { return by_chance >= score; });
    const double pvalue = (static_cast<double>(as_good) + 1.0) / static_cast<double>(task.nPermutations + 1);
    tests.emplace_back(std::string(job.scorers[s]->name),
                       ValueMap{{"score", score}, {"permutation_scores", std::move(scores)}, {"pvalue", pvalue}});
  }
  result.evaluation.emplace_back("permutation_test_score", std::move(tests));
}

template void learning_curve(const Context&, const schema::LearningCurve&, const TaskInput<float>&,
                             const TaskData<float>&, schema::Result&);
template void learning_curve(const Context&, const schema::LearningCurve&, const TaskInput<double>&,
                             const TaskData<double>&, schema::Result&);
template void validation_curve(const Context&, const schema::ValidationCurve&, const TaskInput<float>&,
                               const TaskData<float>&, schema::Result&);
template void validation_curve(const Context&, const schema::ValidationCurve&, const TaskInput<double>&,
                               const TaskData<double>&, schema::Result&);
template void permutation_test(const Context&, const schema::PermutationTestScore&, const TaskInput<float>&,
                               const TaskData<float>&, schema::Result&);
template void permutation_test(const Context&, const schema::PermutationTestScore&, const TaskInput<double>&,
                               const TaskData<double>&, schema::Result&);

}   // namespace kedge::engine
