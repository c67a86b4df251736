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

// Resource. All steps but the last are Transformers. Where the context has a WorkCache and the samples a content, transformers
// that are fitted and rows that are transformed are taken from there when an equal chain has left them. Not thread safe.
template <class T>
class Chain {
 public:
  // The estimators' names must be known. Errors: those of their parameters.
  explicit Chain(const std::vector<schema::Step>& steps);

  // What fit() on samples of this content will share with other candidates, into the plan.
  void announce(WorkCache& plan, std::string content) const;

  // Fits every step in order; y's weights go to the last one alone. Errors: those of the estimators; kBadData for a NaN that a
  // step does not take.
  void fit(const Context& ctx, const Samples<T>& X, const Target& y);

  // Scores of the fitted chain, in the order of `scorers`, which fit the kind of the last step.
  std::vector<double> score(const Context& ctx, const Samples<T>& X, const Target& y, const std::vector<const Scorer*>& scorers);

  const Estimator<T>& step(std::size_t i) const { return *steps_[i].estimator; }
  std::size_t size() const { return steps_.size(); }
  const ChainTimings& timings() const { return timings_; }   // summed since construction

 private:
  struct Step {
    std::string name, key;   // key: the step's description, equal for equal work
    std::shared_ptr<Estimator<T>> estimator;   // shared with other chains of a search
  };
  template <class Work>
  auto timed(const Context& ctx, std::size_t step, double ChainTimings::*total, Work&& work);
  Samples<T> fit_transform(const Context& ctx, const Samples<T>& X, const Target& y, std::size_t step);
  Samples<T> transform(const Context& ctx, const Samples<T>& X, std::size_t step);
  void require_readable(const Context& ctx, const Samples<T>& X, std::size_t step) const;

  std::vector<Step> steps_;
  std::vector<std::string> fitted_content_;   // by step: what it was fitted on
  ChainTimings timings_;
};

}  // namespace kedge::engine
