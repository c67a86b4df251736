// cross_validate: one fit and one score per split, over one shared table.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/model_selection/chain.h"
#include "engine/model_selection/splitters.h"

namespace kedge::engine {

// The data of a task: all rows on the device, and their classes. Borrowed for the call.
template <class T>
struct LabelledTable {
  std::shared_ptr<Table<T>> table;                    // shared by the Samples of every fold
  const std::vector<std::int32_t>& codes;             // host, one per row
  const Array<std::int32_t>& table_codes;             // the same on the device
  const std::vector<std::string>& classes;

  Samples<T> samples(const Context& ctx, const std::vector<std::int32_t>& rows) const;
  Target target(const std::vector<std::int32_t>& rows) const;
};

struct CrossValidation {
  std::vector<std::pair<std::string, schema::Score>> scores;   // "accuracy", and "train_accuracy" if train scores were wanted
  std::vector<schema::FoldTimings> folds;
  double prepare = 0;                                          // seconds of work that the folds share
  std::vector<double> steps;                                   // seconds of each step, summed over folds
};

// Fits a fresh chain on each split's train rows and scores it on its test rows. Emits for each fold a metric event per score,
// timing events and one progress event ("fold"). Stops within one estimator iteration of a stop request (kCancelled).
template <class T>
CrossValidation cross_validate(const Context& ctx, const std::function<Chain<T>()>& make_chain,
                               const LabelledTable<T>& data, const std::vector<Split>& splits,
                               const std::vector<const Scorer*>& scorers, bool return_train_score);

// Mean and population standard deviation of the folds.
schema::Score summarize(std::vector<double> per_fold);

}  // namespace kedge::engine
