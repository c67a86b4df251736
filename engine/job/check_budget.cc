// Counts the processor time of a check, which does not depend on other work of the machine.
#include "engine/job/check_budget.h"

#include <time.h>

#include "engine/job/refuse.h"

namespace kedge::engine {
namespace {

std::chrono::nanoseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

CheckClock::CheckClock(const CheckBudget& budget) : budget_(budget), begin_(processor_time()) {}

void CheckClock::spend(const std::string& where, std::size_t done, std::size_t all) const {
  if (budget_.stop.stop_requested()) throw schema::Error(schema::ErrorCode::kCancelled, "the check of the job was stopped");
  if (processor_time() - begin_ <= budget_.processor_time) return;
  refuse(where, fmt::format("the check of the job takes more than {} s: {} of {} are checked; make it smaller",
                            std::chrono::duration<double>(budget_.processor_time).count(), done, all));
}

}  // namespace kedge::engine
