// What naive Bayes holds at its worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed bayes(const SampleShape& X, const schema::Step& step);
MemoryNeed category_bayes(const SampleShape& X, const schema::Step& step);   // CategoricalNB

}  // namespace kedge::engine::memory
