// One parallel loop: regions within it, those of OpenBLAS too, have one thread.
#include "engine/backend/host/side_by_side.h"

#include <omp.h>

#include "engine/core/first_error.h"

namespace kedge::engine {

void side_by_side(std::int64_t n, const std::function<void(std::int64_t)>& work) {
  FirstError error;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < n; ++i) error.run([&] { work(i); });
  error.rethrow();
}

int host_threads() {
  return omp_in_parallel() ? 1 : omp_get_max_threads();
}

}   // namespace kedge::engine
