// The rules of a job description: everything that can be checked without data or device.
#pragma once

#include <vector>

#include "engine/estimators/catalogue.h"
#include "engine/metrics/scorers.h"
#include "schemas/job.h"

namespace kedge::engine {

// A job whose description keeps all rules. Pointers are to static lists.
struct CheckedJob {
  schema::JobSpec spec;
  std::vector<const CatalogueEntry*> estimators;   // one per step
  std::vector<const Scorer*> scorers;              // accuracy where none was named; empty for a fit
  bool ends_in_classifier() const { return estimators.back()->info.kind == "classifier"; }
};

// Errors: the first broken rule, with the field's path from the root of the spec. Cost: microseconds.
CheckedJob check_job(const schema::JobSpec& spec);

}  // namespace kedge::engine
