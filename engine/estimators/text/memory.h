// The memory rules of this family.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed terms(const SampleShape& X, const schema::Step& step);   // with a vocabulary
MemoryNeed hashed_terms(const SampleShape& X, const schema::Step& step);
MemoryNeed weighted_terms(const SampleShape& X, const schema::Step& step);

}   // namespace kedge::engine::memory
