// The seeds of copies of an estimator.
#pragma once

#include <cstdint>
#include <limits>

#include "engine/core/legacy_random.h"
#include "schemas/value.h"

namespace kedge::engine {

inline constexpr std::uint64_t kLargestStepSeed =
    std::numeric_limits<std::int32_t>::max() - 1;   // randint(MAX_INT) is below it

// A step, or a list of steps, in which each estimator that has the parameter random_state, those inside others
// included, gets one drawn from `random`, in scikit-learn's order: of the parameters' full names, such as
// "pca__random_state". Source: scikit-learn 1.9, _set_random_states().
schema::Value with_random_states(const schema::Value& predictor, LegacyRandom& random);

}   // namespace kedge::engine
