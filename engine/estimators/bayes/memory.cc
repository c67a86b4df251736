// What naive Bayes holds at its worst moment.
#include "engine/estimators/bayes/memory.h"

#include "engine/estimators/memory_terms.h"

namespace kedge::engine::memory {

using schema::Step;

MemoryNeed bayes(const SampleShape& X, const Step&) {
  return {.work = X.copy() + block(X) / 2 + answers(X)};
}

MemoryNeed category_bayes(const SampleShape& X, const Step&) {
  constexpr std::int64_t kCategories = 10;   // of a column; only the data tell which has more
  return {.work = X.value_size() + kCategories * block(X) + answers(X)};
}

}  // namespace kedge::engine::memory
