// What support vector machines hold at their worst moment.
#pragma once

#include <string>

#include "engine/estimators/memory_need.h"

namespace kedge::engine::memory {

MemoryNeed support_vectors(const SampleShape& X, const schema::Step& step);

// Names the kernel rows that candidates with this step share within a fold: MemoryNeed::kept stays once for each such
// key that several candidates have, kSharedKernelBytes at most for all keys. Empty: the step has none.
std::string kernel_matrix_key(const schema::Step& step);

}   // namespace kedge::engine::memory
