// What transformers of transformers hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed column_transformer(const SampleShape& X, const schema::Step& step);
MemoryNeed feature_union(const SampleShape& X, const schema::Step& step);

}  // namespace kedge::engine::memory
