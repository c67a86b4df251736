// What decompositions hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed principal_components(const SampleShape& X, const schema::Step& step);
MemoryNeed incremental_components(const SampleShape& X, const schema::Step& step);
MemoryNeed truncated_components(const SampleShape& X, const schema::Step& step);

}  // namespace kedge::engine::memory
