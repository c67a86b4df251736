// The estimators of a pipeline in a row: fit each on what the former made, then predict; with the time that each took.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/estimator.h"
#include "engine/metrics/scorers.h"
#include "schemas/job.h"

namespace kedge::engine {

// Seconds on a steady clock, read only after the device has finished.
struct ChainTimings {
  double prepare = 0;          // binning of tables, before the first fit that reads the bins
  double fit = 0, transform = 0, predict = 0, score = 0;
  std::vector<double> steps;   // fit and transform, by step
};

// Resource. All steps but the last are Transformers. Not thread safe.
template <class T>
class Chain {
 public:
  explicit Chain(std::vector<std::unique_ptr<Estimator<T>>> steps);

  // Fits every step in order. Errors: those of the estimators.
  void fit(const Context& ctx, const Samples<T>& X, const Target& y);

  // Scores of the fitted chain, in the order of `scorers`. The last step is a Classifier.
  std::vector<double> score(const Context& ctx, const Samples<T>& X, const Target& y, const std::vector<const Scorer*>& scorers);

  const Estimator<T>& step(std::size_t i) const { return *steps_[i]; }
  std::size_t size() const { return steps_.size(); }
  const ChainTimings& timings() const { return timings_; }   // summed since construction

 private:
  Samples<T> transformed(const Context& ctx, Samples<T> X, std::size_t step);
  std::vector<std::unique_ptr<Estimator<T>>> steps_;
  ChainTimings timings_;
};

}  // namespace kedge::engine
