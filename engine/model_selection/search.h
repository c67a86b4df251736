// Searches: every candidate on every fold, with what the candidates have in common done once; then the best one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/model_selection/cross_validate.h"
#include "engine/model_selection/param_grid.h"

namespace kedge::engine {

struct SearchSetup {
  std::vector<const Scorer*> scorers;
  bool return_train_score = false;
  std::optional<double> error_score;   // score of a fit that fails; without it the failure is the job's
  bool reports_best = true;            // as events
  std::size_t decides = 0;             // the scorer by which a candidate is the best so far
  std::int64_t fits_before = 0;        // of earlier rounds of the same search
  std::int64_t fits_total = 0;         // of all rounds; 0: this one is the only one
};

// The candidates of a round by place: their pipelines, and the parameters that make them. Each is made when it is wanted, so that many
// take no more memory than one.
struct Contenders {
  std::size_t size = 0;
  std::function<SharedSteps(std::size_t)> pipeline;
  std::function<Candidate(std::size_t)> params;
};

// Scores of some candidates on the same folds, in scikit-learn's cv_results_ terms.
struct Round {
  Contenders contenders;
  std::vector<std::vector<FoldScores>> scores;   // by candidate and fold
  std::int64_t iteration = 0, n_resources = 0;   // of successive halving
  std::map<std::string, std::int64_t> made;      // pieces of shared work by kind, of all folds: see WorkCache
};

// Scores candidates on the folds. Transformers and other work that is equal for
// several candidates are done once a fold (Context::work); each candidate announces first what it will want. Emits a progress event ("candidate") at the beginning and
// one for each candidate and fold, a metric ("best_SCORER") whenever another mean over the folds so far is the best, at most ten a second,
// and a warning for each candidate that fails. Errors: kCancelled; without error_score those of the fits; with it, the last of them
// when every fit has failed.
template <class T>
Round score_candidates(const Context& ctx, Contenders contenders, const TaskData<T>& data, const std::vector<Split>& splits,
                       const SearchSetup& setup);

// Mean test score of each candidate under one scorer.
std::vector<double> mean_test_scores(const Round& round, std::size_t scorer);

// Everything under the names of cv_results_, with "score" for the only scorer and the scorer's name where there are several;
// of several rounds one after the other, ranked together.
schema::ValueMap cv_results(const std::vector<Round>& rounds, const SearchSetup& setup, bool halving);

// The position of the first best mean, NaN being worse than anything.
std::size_t best_position(const std::vector<double>& means);

// One round of successive halving for each iteration: which candidates, with how much of the resource.
struct Halving {
  std::int64_t factor = 3, min_resources = 1, max_resources = 1;   // "exhaust" and "smallest" already resolved, see halving_plan()
  std::int64_t n_iterations = 1, n_required = 1, n_possible = 1;
  bool aggressive = false;
  std::int64_t resources(std::int64_t iteration) const;
};
Halving halving_plan(std::int64_t n_candidates, std::int64_t factor, std::int64_t min_resources, std::int64_t max_resources, bool exhaust,
                     bool aggressive);

// Positions of the best count/factor candidates, worst first, as scikit-learn keeps them.
std::vector<std::size_t> keep_best(const std::vector<double>& means, std::int64_t factor);

// A share of each part of each split, drawn as sklearn.utils.resample draws it.
std::vector<Split> subsampled(const std::vector<Split>& splits, double fraction, std::uint32_t seed);

}  // namespace kedge::engine
