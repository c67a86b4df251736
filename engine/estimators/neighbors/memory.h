// What neighbour searches hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed neighbours(const SampleShape& X, const schema::Step& step);

}  // namespace kedge::engine::memory
