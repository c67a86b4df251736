// What trees and forests hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed tree_classifier(const SampleShape& X, const schema::Step& step);
MemoryNeed tree_regressor(const SampleShape& X, const schema::Step& step);
MemoryNeed forest_classifier(const SampleShape& X, const schema::Step& step);
MemoryNeed forest_regressor(const SampleShape& X, const schema::Step& step);
MemoryNeed extra_trees_classifier(const SampleShape& X, const schema::Step& step);
MemoryNeed extra_trees_regressor(const SampleShape& X, const schema::Step& step);

}  // namespace kedge::engine::memory
