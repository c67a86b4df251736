// What boosting holds at its worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed hist_boosting(const SampleShape& X, const schema::Step& step);
MemoryNeed exact_boosting(const SampleShape& X, const schema::Step& step);

}   // namespace kedge::engine::memory
