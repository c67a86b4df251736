// The estimators of a pipeline in a row: fit each on what the former made, then predict; with the time that each took.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/estimator.h"
#include "engine/metrics/scorers.h"
#include "engine/model_selection/scored_rows.h"
#include "engine/model_selection/shared_steps.h"
#include "schemas/job.h"

namespace kedge::engine {

struct CatalogueEntry;
class FitTarget;

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
  explicit Chain(const SharedSteps& steps);
  explicit Chain(const std::vector<schema::Step>& steps) : Chain(shared_steps(steps)) {}

  // What fit() on samples of this content will share with other candidates, into the plan.
  void announce(WorkCache& plan, std::string content) const;

  // Fits every step in order, each on the rows and classes that resamplers before it leave; y's weights go to the last
  // one, and to resamplers. Errors: those of the estimators; kBadData for a NaN that a step does not take.
  void fit(const Context& ctx, const Samples<T>& X, const Target& y);

  // Scores of the fitted chain, in the order of `scorers`, which fit the kind of the last step.
  // `rows`, if given, gets what is predicted for them behind what it has.
  std::vector<double> score(const Context& ctx, const Samples<T>& X, const Target& y, const std::vector<const Scorer*>& scorers,
                            ScoredRows* rows = nullptr);

  // What the last step predicts of rows, after the others have transformed them; or the rows as all steps transform
  // them. Errors: kBadData for other columns than were fitted.
  Samples<T> transformed(const Context& ctx, const Samples<T>& X, std::size_t n_steps);
  // The fitted chain, to a model or from one, with every step checked against the one before.
  void state(StateArchive& archive);

  const Estimator<T>& step(std::size_t i) const { return *steps_[i].estimator; }
  schema::ValueMap fitted(std::size_t i) const { return fitted_attributes(*steps_[i].estimator, steps_[i].n_features); }
  std::size_t size() const { return steps_.size(); }
  std::int64_t n_features() const { return steps_.front().n_features; }   // columns of what it was fitted with
  const ChainTimings& timings() const { return timings_; }   // summed since construction

 private:
  struct Step {
    std::string name, key;   // key: the step's description or, of a long one, its digest; equal for equal work
    std::shared_ptr<Estimator<T>> estimator;   // shared with other chains of a search
    const CatalogueEntry* entry = nullptr;
    std::int64_t n_features = 0;   // columns of what it was fitted with
  };
  template <class Work>
  auto timed(const Context& ctx, std::size_t step, double ChainTimings::*total, Work&& work);
  void look_at_magnitudes(const Context& ctx, const Samples<T>& X, const FitTarget& y, std::size_t step) const;
  void fit_one(const Context& ctx, const Samples<T>& X, const Target& y, std::size_t step);
  // The rows of the fit as the step leaves them, and with them the target of the next one.
  Samples<T> fit_transform(const Context& ctx, const Samples<T>& X, FitTarget& y, std::size_t step);
  Samples<T> transform(const Context& ctx, const Samples<T>& given, std::size_t step);
  Samples<T> readable(const Context& ctx, const Samples<T>& X, std::size_t step) const;

  std::vector<Step> steps_;
  std::vector<std::string> fitted_content_;   // by step: what it was fitted on
  ChainTimings timings_;
};

}  // namespace kedge::engine
