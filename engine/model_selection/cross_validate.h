// cross_validate: one fit and one score per split, over one shared table.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/model_selection/chain.h"
#include "engine/model_selection/task_data.h"

namespace kedge::engine {

// Scores of one pipeline on one fold, in the order of the scorers.
struct FoldScores {
  std::vector<double> test, train;   // train is empty unless wanted
  schema::FoldTimings timings;       // without the train scores
  double prepare = 0;                // seconds of work that the folds share
  std::vector<double> steps;         // seconds of each step
};

struct CrossValidation {
  std::vector<std::pair<std::string, schema::Score>> scores;   // "accuracy", and "train_accuracy" if train scores were wanted
  std::vector<schema::FoldTimings> folds;
  double prepare = 0;
  std::vector<double> steps;                                   // seconds of each step, summed over folds
};

template <class T>
FoldScores fit_and_score(const Context& ctx, const SharedSteps& steps, const Fold<T>& fold,
                         const std::vector<const Scorer*>& scorers, bool return_train_score, ScoredRows* rows = nullptr);

// `rows`, if given, gets what is predicted for the test rows.
// Fits the steps on each split's train rows and scores them on its test rows. Emits for each fold a metric event per score,
// timing events and one progress event ("fold"). Stops within one estimator iteration of a stop request (kCancelled).
template <class T>
CrossValidation cross_validate(const Context& ctx, const std::vector<schema::Step>& steps, const TaskData<T>& data,
                               const std::vector<Split>& splits, const std::vector<const Scorer*>& scorers, bool return_train_score, ScoredRows* rows = nullptr);

// Mean and population standard deviation of the folds.
schema::Score summarize(std::vector<double> per_fold);

}  // namespace kedge::engine
