// How many rows of which classes a resampler makes or keeps: imbalanced-learn's sampling_strategy.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/estimators/classes.h"

namespace kedge::engine {

enum class Sampling { kOver, kUnder };

struct ClassSample {
  std::int32_t code = 0;    // of the class
  std::int64_t count = 0;   // rows to make, or to keep
};

// A word, a ratio, or {class: rows}.
std::vector<schema::ParamForm> sampling_strategy_forms(Sampling sampling);
// Refuses an object whose values are not whole numbers of at least 0; throws as check_param does.
void check_sampling_strategy(std::string_view owner, const schema::Value& strategy);
// The classes that are resampled, by code. Of equally frequent classes the first is the majority and the minority.
// Errors: kBadData for fewer than 2 classes, a ratio with more than 2, one that is already passed, and a class that
// these rows lack; kInvalidValue for a class that the data set lacks.
std::vector<ClassSample> class_samples(std::string_view owner, Sampling sampling, const schema::Value& strategy,
                                       const PresentClasses& present, const Target& y);

}   // namespace kedge::engine
