// The list of all estimators, and how to make one from a step of a pipeline.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "schemas/catalogue.h"
#include "schemas/job.h"

namespace kedge::engine {

// One row of the catalogue. make_* return Transformer or Classifier; both check the parameters and throw Error with
// `where` = "params.NAME" (kUnknownParameter, kWrongType, kInvalidValue).
struct CatalogueEntry {
  schema::EstimatorInfo info;
  MemoryRule memory;   // what it will need
  bool wants_value_counts =
      false;   // the rule is worth a pass over the data file that finds SampleShape::has_few_values
  std::unique_ptr<Estimator<float>> (*make_f32)(const schema::ValueMap& params);
  std::unique_ptr<Estimator<double>> (*make_f64)(const schema::ValueMap& params);
};

std::span<const CatalogueEntry> catalogue();
const CatalogueEntry* find_estimator(std::string_view name);   // null if there is none
// The same, or Error{kUnknownEstimator} at `where` with what is nearest: see unknown_estimator().
const CatalogueEntry& known_estimator(std::string_view name, const std::string& where);

}  // namespace kedge::engine
