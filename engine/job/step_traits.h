// What the steps of a pipeline are and what they read, known without data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/estimator.h"
#include "schemas/catalogue.h"
#include "schemas/job.h"

namespace kedge::engine {

struct StepTraits {
  const schema::EstimatorInfo* info = nullptr;   // in the catalogue
  bool transforms = false, classifies = false, regresses = false, clusters = false;
  bool predicts = false;        // rows that it was not fitted with
  bool has_proba = false, has_decision = false;   // of classes
  std::vector<std::string> row_outputs = {};      // see RowScorer
  bool fits_targets = false;                      // several columns: see MultiOutput
  std::optional<std::int64_t> n_targets = {};     // see TargetCount
  bool resamples = false;                         // see Resampler
  bool drops_weights = false;                     // of the rows, where it resamples
  bool takes_weights = false, accepts_nan = false, accepts_categories = false;
  TargetKind target_kind = TargetKind::kNone;
};

// Errors, at `path`.estimator or `path`.params...: kUnknownEstimator with the nearest name, those of the parameters,
// and those of check_fit_count().
StepTraits traits_of(const schema::Step& step, const std::string& path);

// All but the last must be transformers, names must be unique, and the steps must not disagree on the kind of target.
// Errors: kInvalidValue at `path`[i]. Parameters are not looked at.
void check_order(const std::vector<schema::Step>& steps, const std::vector<StepTraits>& traits, const std::string& path);

// The target that a chain of these steps is fitted with.
TargetKind target_kind_of(const std::vector<StepTraits>& traits);

}  // namespace kedge::engine
