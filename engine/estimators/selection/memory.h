// What selectors of columns hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed k_best(const SampleShape& X, const schema::Step& step);   // SelectKBest
MemoryNeed generic_selection(const SampleShape& X, const schema::Step& step);   // GenericUnivariateSelect
MemoryNeed takes_columns(const SampleShape& X, const schema::Step& step);   // as many as the data say

}  // namespace kedge::engine::memory
