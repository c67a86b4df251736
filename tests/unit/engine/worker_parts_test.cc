// The worker's inbox, its progress filter and the memory that it keeps, by themselves.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdlib>
#include <vector>

#include "engine/core/process_memory.h"
#include "engine/worker/inbox.h"
#include "engine/worker/progress_filter.h"

namespace kedge::engine {
namespace {

using schema::ProgressEvent;

TEST(Inbox, CancelsARunBeforeAndAfterItWasTaken) {
  Inbox inbox;
  for (const char* id : {"a", "b", "c"}) inbox.push({.jobId = id});
  inbox.cancel("b");
  const PendingRun a = inbox.take().value();
  EXPECT_FALSE(a.stop.stop_requested());
  inbox.cancel("a");
  EXPECT_TRUE(a.stop.stop_requested());
  EXPECT_TRUE(inbox.take().value().stop.stop_requested());
  EXPECT_FALSE(inbox.take().value().stop.stop_requested());
  EXPECT_FALSE(inbox.take());
}

TEST(ProgressFilter, HoldsBackWhatComesTooSoonButNeitherFirstsNorLasts) {
  ProgressFilter filter;
  const ProgressFilter::Clock::time_point start{};
  const auto trees = [](std::int64_t done, std::int64_t fold) { return ProgressEvent{"trees", done, 10, "trees", fold}; };
  EXPECT_TRUE(filter.passes(trees(1, 0), start));
  EXPECT_FALSE(filter.passes(trees(2, 0), start + ProgressFilter::kInterval / 2));
  EXPECT_TRUE(filter.passes(trees(3, 0), start + ProgressFilter::kInterval));
  EXPECT_TRUE(filter.passes(trees(10, 0), start + ProgressFilter::kInterval));
  EXPECT_TRUE(filter.passes(trees(1, 1), start + ProgressFilter::kInterval));
}

TEST(ProgressFilter, LetsFoldsAndEverythingElseThrough) {
  ProgressFilter filter;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(filter.passes(ProgressEvent{"fold", i, 5, "folds", -1}, {}));
    EXPECT_TRUE(filter.passes(schema::MetricEvent{"accuracy", 1, i}, {}));
  }
}

constexpr std::int64_t kBlock = std::int64_t{64} << 20,
                       kNearly = kBlock * 7 / 8;   // other allocations are small compared with an eighth

// Exits with 0 if a freed block stays until it is given back; without destructors, which would remove the other tests' files.
[[noreturn]] void free_a_block() {
  keep_freed_memory();
  const std::int64_t before = process_memory().held;
  std::vector<char>(kBlock, 1).back() = 2;
  const std::int64_t kept = process_memory().held - before;
  give_back_freed_memory();
  const std::int64_t left = process_memory().held - before;
  std::_Exit(kept >= kNearly && left <= kBlock - kNearly ? EXIT_SUCCESS : EXIT_FAILURE);
}

TEST(WorkerMemory, KeepsFreedBlocksUntilTheyAreGivenBack) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "sanitizers bring their own allocator";
  GTEST_FLAG_SET(death_test_style, "threadsafe");   // in a program begun anew: what other tests have freed would be used first
  EXPECT_EXIT(free_a_block(), testing::ExitedWithCode(EXIT_SUCCESS), "");
}

bool can_have(std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && ::munmap(memory, bytes) == 0;
}

rlim_t bound_of_data() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_DATA, &limit) == 0 ? limit.rlim_cur : 0;
}

// Exits with 0 if a bound stays, and gives way to a tighter one for as long as that lives.
[[noreturn]] void bound_itself() {
  renew_memory_bound();
  const rlim_t standing = bound_of_data();
  bool holds = standing != RLIM_INFINITY && can_have(kBlock);
  {
    const MemoryBound tight(kBlock / 2);
    holds = holds && !can_have(kBlock);
  }
  std::_Exit(holds && bound_of_data() == standing && can_have(kBlock) ? EXIT_SUCCESS : EXIT_FAILURE);
}

TEST(WorkerMemory, IsBoundedByWhatIsAvailableAndForAJobByLess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");   // in a program begun anew, as the bound stays
  EXPECT_EXIT(bound_itself(), testing::ExitedWithCode(EXIT_SUCCESS), "");
}

}  // namespace
}  // namespace kedge::engine
