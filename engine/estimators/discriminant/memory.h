// What discriminants hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed linear_discriminant(const SampleShape& X, const schema::Step& step);
MemoryNeed quadratic_discriminant(const SampleShape& X, const schema::Step& step);

}  // namespace kedge::engine::memory
