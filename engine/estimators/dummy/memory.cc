// What estimators that look at the target alone hold at their worst moment.
#include "engine/estimators/dummy/memory.h"

#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

MemoryNeed constant(const SampleShape& X, const Step&) {
  return {.work = answers(X)};
}

}  // namespace kedge::engine::memory
