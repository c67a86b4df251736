// How many estimators one fit of a step fits, where it is made of others: a bag of bags of stacks is millions.
#pragma once

#include <string>

#include "schemas/job.h"

namespace kedge::engine {

// More would take hours, and a model of them would not fit into a result.
inline constexpr double kMostFits = 100'000;

struct FitCount {
  double fits = 1;            // of estimators that hold no others; at most so many
  double largest = 1;         // the largest factor
  std::string field, value;   // the parameter that it comes from, by its path, and what it is; empty: there is none
};

// From the parameters alone: classes, targets and columns, which the data say, are not counted. An estimator that
// cannot be found counts as one fit. `path`: of the step.
FitCount fit_count(const schema::Step& step, const std::string& path);

// Errors: kInvalidValue at the parameter with the largest factor beyond kMostFits.
void check_fit_count(const schema::Step& step, const std::string& path);

}   // namespace kedge::engine
