// The seeds of copies of an estimator.
#pragma once

#include <cstdint>
#include <limits>

#include "schemas/value.h"

namespace kedge::engine {

inline constexpr std::uint64_t kLargestStepSeed =
    std::numeric_limits<std::int32_t>::max() - 1;   // randint(MAX_INT) is below it

// Whether the value is one step, not several, whose estimator has the parameter random_state.
bool takes_random_state(const schema::Value& step);
// The step with that parameter; only if takes_random_state().
schema::Value with_random_state(const schema::Value& step, std::int64_t random_state);

}   // namespace kedge::engine
