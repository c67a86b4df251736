// What clusterers hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed clusters(const SampleShape& X, const schema::Step& step);   // KMeans and its like
MemoryNeed density(const SampleShape& X, const schema::Step& step);   // DBSCAN

}  // namespace kedge::engine::memory
