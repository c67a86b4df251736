// What kernel approximations hold at their worst moment.
#pragma once

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed landmarks(const SampleShape& X, const schema::Step& step);   // Nystroem
MemoryNeed kernel_system(const SampleShape& X, const schema::Step& step);   // KernelRidge

}  // namespace kedge::engine::memory
