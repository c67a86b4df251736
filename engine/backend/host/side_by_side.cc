// One parallel loop: regions within it, those of OpenBLAS too, have one thread.
#include "engine/backend/host/side_by_side.h"

#include <atomic>
#include <exception>
#include <mutex>

namespace kedge::engine {

void side_by_side(std::int64_t n, const std::function<void(std::int64_t)>& work) {
  std::exception_ptr error;
  std::mutex error_mutex;
  std::atomic<bool> failed{false};
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < n; ++i) {
    if (failed) continue;
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      failed = true;
    }
  }
  if (error) std::rethrow_exception(error);
}

}   // namespace kedge::engine
