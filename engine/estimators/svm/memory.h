// What support vector machines hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed support_vectors(const SampleShape& X, const schema::Step& step);

}   // namespace kedge::engine::memory
