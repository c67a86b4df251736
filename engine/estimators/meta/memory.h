// What predictors made of predictors hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed voting(const SampleShape& X, const schema::Step& step);
MemoryNeed stacking(const SampleShape& X, const schema::Step& step);
MemoryNeed one_vs_rest(const SampleShape& X, const schema::Step& step);
MemoryNeed one_vs_one(const SampleShape& X, const schema::Step& step);
MemoryNeed multi_output(const SampleShape& X, const schema::Step& step);
MemoryNeed target_chain(const SampleShape& X, const schema::Step& step);
MemoryNeed calibrated(const SampleShape& X, const schema::Step& step);
MemoryNeed bagging(const SampleShape& X, const schema::Step& step);
MemoryNeed boosted_copies(const SampleShape& X, const schema::Step& step);
MemoryNeed model_selector(const SampleShape& X, const schema::Step& step);   // SelectFromModel and RFE
MemoryNeed transformed_target(const SampleShape& X, const schema::Step& step);
MemoryNeed ransac(const SampleShape& X, const schema::Step& step);
MemoryNeed scored_selector(const SampleShape& X, const schema::Step& step);   // RFECV and SequentialFeatureSelector

}   // namespace kedge::engine::memory
