// Scores candidates fold by fold, so that a fold's shared work is dropped when the fold is done.
#include "engine/model_selection/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>

#include "engine/comm/ranks.h"
#include "engine/core/fold_parts.h"
#include "engine/core/legacy_random.h"
#include "engine/core/stop.h"
#include "engine/model_selection/dealt_scores.h"
#include "engine/model_selection/lanes.h"
#include "engine/model_selection/split_checks.h"

namespace kedge::engine {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

FoldScores failed(const SearchSetup& setup) {
  FoldScores scores{.test = std::vector<double>(setup.scorers.size(), *setup.error_score)};
  if (setup.return_train_score) scores.train = scores.test;
  return scores;
}

// A failure that belongs to the candidate; a cancelled job or a full device is the job's.
bool is_of_candidate(schema::ErrorCode code) {
  return code == schema::ErrorCode::kBadData || code == schema::ErrorCode::kInvalidValue;
}

// A warning for each candidate and fold is not to hold what a long parameter does.
std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 500;
  if (text.size() <= kLongest) return text;
  text.resize(kLongest);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0) text.pop_back();   // no half of a character
  return text + "...";
}

// `failure` keeps the last error that was scored instead of thrown.
template <class T>
FoldScores score_one(const Context& ctx, const Contenders& contenders, std::size_t i, const Fold<T>& fold, const SearchSetup& setup,
                     std::optional<schema::Error>& failure) {
  try {
    return fit_and_score(ctx, contenders.pipeline(i), fold, setup.scorers, setup.return_train_score);
  } catch (const schema::Error& error) {
    if (!setup.error_score || !is_of_candidate(error.code)) throw;
    failure = error;
    ctx.warn(fmt::format("candidate {} failed on fold {}: {}", shortened(schema::to_string(contenders.params(i))), ctx.fold, error.message));
    return failed(setup);
  }
}

struct MeanStd {
  double mean, std;
};

MeanStd moments(const std::vector<double>& values) {
  const schema::Score score = summarize(values);
  return {score.mean, score.std};
}

// By row the fold that tests it; nothing if the folds do not part the rows.
std::vector<std::int32_t> folds_of_rows(const std::vector<Split>& splits, std::int64_t n_rows) {
  std::vector<std::int32_t> fold_of_row(static_cast<std::size_t>(n_rows));
  for (std::size_t k = 0; k < splits.size(); ++k)
    for (const std::int32_t row : splits[k].test) fold_of_row[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(k);
  if (splits_from_folds(fold_of_row, static_cast<std::int64_t>(splits.size())) != splits) fold_of_row.clear();
  return fold_of_row;
}

// The best mean so far, reported at most ten times a second and once more when the round is done.
class BestSoFar {
 public:
  BestSoFar(const SearchSetup& setup, std::size_t n_candidates) : setup_(setup), means_(n_candidates, std::nan("")) {}

  void add(std::size_t candidate, const std::vector<FoldScores>& folds) {
    double sum = 0;
    for (const FoldScores& fold : folds) sum += fold.test[setup_.decides];
    means_[candidate] = sum / static_cast<double>(folds.size());
    if (candidate == best_) best_ = best_position(means_);   // its mean may have fallen
    else if (means_[candidate] > means_[best_] || std::isnan(means_[best_])) best_ = candidate;
  }

  void tell(const Context& ctx, bool is_last) {
    constexpr std::chrono::milliseconds kInterval{100};
    const auto now = std::chrono::steady_clock::now();
    const double mean = means_[best_];
    if (!ctx.emit || !setup_.reports_best || std::isnan(mean) || (told_ && *told_ == mean) ||
        (told_ && !is_last && now - told_at_ < kInterval))
      return;
    told_ = mean, told_at_ = now;
    ctx.emit(schema::MetricEvent{"best_" + std::string(setup_.scorers[setup_.decides]->name), mean, -1});
  }

 private:
  const SearchSetup& setup_;   // the search's own, which outlives this
  std::vector<double> means_;  // by candidate, over its folds so far
  std::size_t best_ = 0;
  std::optional<double> told_;
  std::chrono::steady_clock::time_point told_at_{};
};

// Reads one number of each fold of a candidate.
using Read = std::function<double(const FoldScores&)>;

std::vector<double> over_folds(const std::vector<FoldScores>& folds, const Read& read) {
  std::vector<double> values;
  for (const FoldScores& fold : folds) values.push_back(read(fold));
  return values;
}

// Rows of cv_results_ that have one entry for each candidate.
class Columns {
 public:
  explicit Columns(const std::vector<Round>& rounds) : rounds_(rounds) {}

  void add_moments(const std::string& key, const Read& read, bool splits) {
    std::vector<double> mean, std;
    std::vector<std::vector<double>> by_split;
    for (const Round& round : rounds_) {
      for (const auto& folds : round.scores) {
        const std::vector<double> values = over_folds(folds, read);
        by_split.resize(std::max(by_split.size(), values.size()));
        for (std::size_t k = 0; k < values.size(); ++k) by_split[k].push_back(values[k]);
        const MeanStd m = moments(values);
        mean.push_back(m.mean), std.push_back(m.std);
      }
    }
    if (splits) {
      for (std::size_t k = 0; k < by_split.size(); ++k) results_.emplace_back(fmt::format("split{}_{}", k, key), std::move(by_split[k]));
    }
    results_.emplace_back("mean_" + key, std::move(mean));
    results_.emplace_back("std_" + key, std::move(std));
  }

  void add_ranks(const std::string& key, const std::vector<double>& means) {
    std::vector<double> best_first;   // without NaN, which is behind all others
    std::ranges::copy_if(means, std::back_inserter(best_first), [](double mean) { return !std::isnan(mean); });
    std::ranges::sort(best_first, std::greater());
    ValueList ranks;
    for (const double mean : means) {
      const auto at = std::isnan(mean) ? best_first.end() : std::ranges::lower_bound(best_first, mean, std::greater());
      ranks.emplace_back(static_cast<std::int64_t>(at - best_first.begin()) + 1);
    }
    results_.emplace_back("rank_" + key, std::move(ranks));
  }

  // "params", and a "param_PATH" for each path that occurs; null for a candidate that lacks it.
  void add_params() {
    std::map<std::string, ValueList> by_path;
    ValueList all;
    for (const Round& round : rounds_) {
      for (std::size_t i = 0; i < round.contenders.size; ++i) {
        const Candidate candidate = round.contenders.params(i);
        for (const auto& [path, value] : candidate) by_path[path].resize(all.size()), by_path[path].push_back(value);
        all.emplace_back(candidate);
      }
    }
    for (auto& [path, values] : by_path) {
      values.resize(all.size());
      results_.emplace_back("param_" + path, std::move(values));
    }
    results_.emplace_back("params", std::move(all));
  }

  void add_of_round(const std::string& key, std::int64_t Round::*member) {
    ValueList values;
    for (const Round& round : rounds_) values.insert(values.end(), round.contenders.size, Value(round.*member));
    results_.emplace_back(key, std::move(values));
  }

  ValueMap take() { return std::move(results_); }

 private:
  const std::vector<Round>& rounds_;
  ValueMap results_;
};

std::vector<std::int32_t> resampled(const std::vector<std::int32_t>& rows, double fraction, std::uint32_t seed) {
  LegacyRandom random(seed);
  std::vector<std::int64_t> order = random.permutation(static_cast<std::int64_t>(rows.size()));
  order.resize(static_cast<std::size_t>(fraction * static_cast<double>(rows.size())));
  std::vector<std::int32_t> chosen;
  for (const std::int64_t i : order) chosen.push_back(rows[static_cast<std::size_t>(i)]);
  return chosen;
}

// floor(log(value) / log(base)) in whole numbers.
std::int64_t whole_log(std::int64_t value, std::int64_t base) {
  std::int64_t log = 0;
  for (; value >= base; value /= base) ++log;
  return log;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0 && result < (std::int64_t{1} << 40); --exponent) result *= base;
  return result;
}

// Scores of a round as they come, candidate after candidate on one fold after the other, and what is made of them.
class RoundScores {
 public:
  RoundScores(Round& round, const SearchSetup& setup, std::size_t n_splits)
      : round_(round), best_(setup, round.contenders.size), total_(round.contenders.size * n_splits) {
    round.scores.resize(round.contenders.size);
  }

  void add(const Context& ctx, std::size_t candidate, DealtScore score) {
    round_.scores[candidate].push_back(std::move(score.scores));
    if (score.failure) last_failure_ = std::move(score.failure), ++n_failed_;
    best_.add(candidate, round_.scores[candidate]);
    best_.tell(ctx, ++done_ == total_);
  }
  std::size_t done() const { return done_; }

  void require_one() const {
    if (n_failed_ < total_ || !last_failure_) return;
    throw schema::Error(last_failure_->code,
                        fmt::format("all {} fits of the search failed, the last: {}", total_, last_failure_->message));
  }

 private:
  Round& round_;
  BestSoFar best_;
  const std::size_t total_;
  std::size_t done_ = 0, n_failed_ = 0;
  std::optional<schema::Error> last_failure_;
};

// A round on one process, or this rank's share of it.
template <class T>
struct RoundRun {
  const Contenders& all;
  const TaskData<T>& data;
  const std::vector<Split>& splits;
  const SearchSetup& setup;
  FoldParts parts;
  std::map<std::string, std::int64_t>& made;

  // Candidates [first, last) on fold k. All candidates announce what they want, so that what is shared is made for all
  // of them, on this rank or another.
  template <class OnScore>
  void score_fold(const Context& ctx, std::size_t k, std::size_t first, std::size_t last, const OnScore& on_score) {
    WorkCache work;
    Context fold_ctx = ctx;
    fold_ctx.fold = static_cast<std::int64_t>(k), fold_ctx.work = &work;
    fold_parts(work, parts.fold_of_row.empty() ? nullptr : &parts);
    const Fold<T> fold(fold_ctx, data, splits[k]);
    for (std::size_t i = 0; i < all.size; ++i) {
      ctx.check_stop();
      Chain<T>(all.pipeline(i)).announce(work, fold.train.content);
    }
    for (std::size_t i = first; i < last; ++i) {
      std::optional<schema::Error> failure;
      FoldScores scores = score_one(fold_ctx, all, i, fold, setup, failure);
      on_score(i, DealtScore{std::move(scores), std::move(failure)});
    }
    for (const auto& [kind, count] : work.made()) made[kind] += count;
  }

  // Of all candidates on all folds, those at [begin, end) in the order in which one process takes them.
  template <class OnScore>
  void score_span(const Context& ctx, std::size_t begin, std::size_t end, const OnScore& on_score) {
    for (std::size_t k = 0; k < splits.size(); ++k) {
      const std::size_t first = std::max(begin, k * all.size), last = std::min(end, (k + 1) * all.size);
      if (first < last) score_fold(ctx, k, first - k * all.size, last - k * all.size, on_score);
    }
  }

  std::vector<double> costs() const {
    std::vector<double> costs;
    for (const Split& split : splits)
      for (std::size_t i = 0; i < all.size; ++i) costs.push_back(predicted_cost(all.pipeline(i), split));
    return costs;
  }
};

// Every rank scores its share and gets the scores of all, in the order of one process.
template <class T>
void score_on_ranks(const Context& ctx, Ranks& ranks, RoundRun<T>& run, RoundScores& scores) {
  const std::vector<std::int64_t> bounds = consecutive_shares(run.costs(), ranks.size());
  const auto begin = static_cast<std::size_t>(bounds[static_cast<std::size_t>(ranks.rank())]);
  const auto end = static_cast<std::size_t>(bounds[static_cast<std::size_t>(ranks.rank()) + 1]);
  const auto total = static_cast<std::int64_t>(run.all.size * run.splits.size()),
             mine = static_cast<std::int64_t>(end - begin);
  const PartedBytes shares = ranks.share([&] {
    const RanksScope alone(nullptr);
    DealtWriter out(ctx);
    std::int64_t done = 0;
    run.score_span(out.context(), begin, end, [&](std::size_t, const DealtScore& score) {
      out.add(score);
      ctx.progress("candidate", run.setup.fits_before + ++done * total / mine, std::max(total, run.setup.fits_total),
                   "fits");
    });
    return out.take();
  });
  std::size_t at = 0;
  for (int r = 0; r < shares.size(); ++r)
    for (DealtScore& score : dealt_scores(ctx, shares.part(r))) scores.add(ctx, at++ % run.all.size, std::move(score));
}

// Each lane scores all candidates on a fold, which share its work, and takes the next fold.
template <class T>
void score_on_lanes(const Context& ctx, int n_lanes, const RoundRun<T>& run, RoundScores& scores) {
  const std::size_t n_folds = run.splits.size();
  const auto total = static_cast<std::int64_t>(run.all.size * n_folds);
  std::vector<std::map<std::string, std::int64_t>> made(n_folds);
  std::vector<std::atomic<std::int64_t>> n_done(n_folds);   // fits of each fold
  std::int64_t told = 0;
  LaneWork work{.n = static_cast<std::int64_t>(n_folds)};
  work.make = [&](const Context& of_lane, std::int64_t fold) {
    const auto k = static_cast<std::size_t>(fold);
    made[k].clear(), n_done[k] = 0;
    RoundRun<T> of_fold{
        .all = run.all, .data = run.data, .splits = run.splits, .setup = run.setup, .parts = {}, .made = made[k]};
    DealtWriter out(of_lane);
    of_fold.score_fold(out.context(), k, 0, run.all.size, [&](std::size_t, const DealtScore& score) {
      out.add(score);
      ++n_done[k];
    });
    return out.take();
  };
  work.tell = [&] {
    std::int64_t done = 0;
    for (const auto& of_fold : n_done) done += of_fold;
    if (done <= told) return;
    told = done;
    ctx.progress("candidate", run.setup.fits_before + done, std::max(total, run.setup.fits_total), "fits");
  };
  work.take = [&](std::int64_t fold, std::span<const std::byte> bytes) {
    std::size_t candidate = 0;
    for (DealtScore& score : dealt_scores(ctx, bytes)) scores.add(ctx, candidate++, std::move(score));
    for (const auto& [kind, count] : made[static_cast<std::size_t>(fold)]) run.made[kind] += count;
  };
  deal_to_lanes(ctx, n_lanes, work);
}

}   // namespace

template <class T>
Round score_candidates(const Context& ctx, Contenders contenders, const TaskData<T>& data,
                       const std::vector<Split>& splits, const SearchSetup& setup) {
  Round round{.contenders = std::move(contenders)};
  const Contenders& all = round.contenders;
  const auto of_all_rounds = std::max(static_cast<std::int64_t>(all.size * splits.size()), setup.fits_total);
  RoundScores scores(round, setup, splits.size());
  ctx.progress("candidate", setup.fits_before, of_all_rounds, "fits");
  RoundRun<T> run{.all = all,
                  .data = data,
                  .splits = splits,
                  .setup = setup,
                  .parts = {.fold_of_row = folds_of_rows(splits, data.n_rows())},
                  .made = round.made};
  if (Ranks* const ranks = ranks_of_job()) {
    score_on_ranks(ctx, *ranks, run, scores);
  } else if (const int n_lanes = data.lanes(ctx, static_cast<std::int64_t>(splits.size())); n_lanes > 1) {
    score_on_lanes(ctx, n_lanes, run, scores);
  } else {
    run.score_span(ctx, 0, all.size * splits.size(), [&](std::size_t i, DealtScore score) {
      scores.add(ctx, i, std::move(score));
      ctx.progress("candidate", setup.fits_before + static_cast<std::int64_t>(scores.done()), of_all_rounds, "fits");
    });
  }
  scores.require_one();
  return round;
}

std::vector<double> mean_test_scores(const Round& round, std::size_t scorer) {
  std::vector<double> means;
  for (const auto& folds : round.scores) means.push_back(moments(over_folds(folds, [&](const FoldScores& f) { return f.test[scorer]; })).mean);
  return means;
}

ValueMap cv_results(const std::vector<Round>& rounds, const SearchSetup& setup, bool halving) {
  Columns columns(rounds);
  if (halving) columns.add_of_round("iter", &Round::iteration), columns.add_of_round("n_resources", &Round::n_resources);
  columns.add_moments("fit_time", [](const FoldScores& f) { return f.prepare + f.timings.fit + f.timings.transform; }, false);
  columns.add_moments("score_time", [](const FoldScores& f) { return f.timings.predict + f.timings.score; }, false);
  columns.add_params();
  for (std::size_t s = 0; s < setup.scorers.size(); ++s) {
    const std::string name = setup.scorers.size() == 1 ? "score" : std::string(setup.scorers[s]->name);
    columns.add_moments("test_" + name, [s](const FoldScores& f) { return f.test[s]; }, true);
    std::vector<double> means;
    for (const Round& round : rounds)
      for (const double mean : mean_test_scores(round, s)) means.push_back(mean);
    columns.add_ranks("test_" + name, means);
    if (setup.return_train_score) columns.add_moments("train_" + name, [s](const FoldScores& f) { return f.train[s]; }, true);
  }
  return columns.take();
}

std::size_t best_position(const std::vector<double>& means) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < means.size(); ++i)
    if (means[i] > means[best] || (std::isnan(means[best]) && !std::isnan(means[i]))) best = i;
  return best;
}

std::int64_t Halving::resources(std::int64_t iteration) const {
  const std::int64_t exponent = aggressive ? std::max<std::int64_t>(0, iteration - n_required + n_possible) : iteration;
  return std::min(power(factor, exponent) * min_resources, max_resources);
}

Halving halving_plan(std::int64_t n_candidates, std::int64_t factor, std::int64_t min_resources, std::int64_t max_resources, bool exhaust,
                     bool aggressive) {
  Halving plan{.factor = factor, .min_resources = min_resources, .max_resources = max_resources, .aggressive = aggressive};
  plan.n_required = 1 + whole_log(n_candidates, factor);
  if (exhaust) plan.min_resources = std::max(min_resources, max_resources / power(factor, plan.n_required - 1));
  plan.n_possible = 1 + whole_log(max_resources / plan.min_resources, factor);
  plan.n_iterations = aggressive ? plan.n_required : std::min(plan.n_possible, plan.n_required);
  return plan;
}

std::vector<std::size_t> keep_best(const std::vector<double>& means, std::int64_t factor) {
  std::vector<std::size_t> order(means.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return std::isnan(means[i]) ? -std::numeric_limits<double>::infinity() : means[i]; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  const auto count = (static_cast<std::int64_t>(means.size()) + factor - 1) / factor;
  return {order.end() - count, order.end()};
}

std::vector<Split> subsampled(const std::vector<Split>& splits, double fraction, std::uint32_t seed) {
  std::vector<Split> smaller;
  for (const Split& split : splits) {
    check_job_stop();
    smaller.push_back({resampled(split.train, fraction, seed), resampled(split.test, fraction, seed)});
  }
  return smaller;
}

template Round score_candidates(const Context&, Contenders, const TaskData<float>&, const std::vector<Split>&, const SearchSetup&);
template Round score_candidates(const Context&, Contenders, const TaskData<double>&, const std::vector<Split>&, const SearchSetup&);

}  // namespace kedge::engine
