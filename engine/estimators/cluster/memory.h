// What clusterers hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed clusters(const SampleShape& X, const schema::Step& step);   // KMeans and its like
MemoryNeed density(const SampleShape& X, const schema::Step& step);   // DBSCAN

// Whether a rank that has its own rows of the samples needs room for these alone: then SampleShape::rows are its own.
bool divides_rows(const schema::Step& step);

}  // namespace kedge::engine::memory
