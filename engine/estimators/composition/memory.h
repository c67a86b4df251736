// What transformers of transformers hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

// Of a step, a list of steps that run one after the other, "passthrough" or "drop".
MemoryNeed nested(const SampleShape& X, const schema::Value& value);

MemoryNeed column_transformer(const SampleShape& X, const schema::Step& step);
MemoryNeed feature_union(const SampleShape& X, const schema::Step& step);

}  // namespace kedge::engine::memory
