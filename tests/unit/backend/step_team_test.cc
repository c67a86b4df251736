// Loops on a team of threads: each piece once, errors and stops as in other loops.
#include "engine/backend/host/step_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "engine/backend/host/side_by_side.h"
#include "engine/core/stop.h"

namespace kedge::engine {
namespace {

TEST(StepTeam, DoesEachPieceOfEachLoopOnce) {
  constexpr std::int64_t kLoops = 2000, kPieces = 37;
  with_step_team([&](StepTeam& team) {
    std::vector<int> done(kPieces, 0);   // by one thread each: a race shows as a count that is wrong
    for (std::int64_t loop = 0; loop < kLoops; ++loop)
      team.run(loop % 2 == 0 ? kPieces : kPieces / 2, [&](std::int64_t i, int worker) {
        ASSERT_LT(worker, team.size());
        ++done[static_cast<std::size_t>(i)];
      });
    for (std::int64_t i = 0; i < kPieces; ++i)
      EXPECT_EQ(done[static_cast<std::size_t>(i)], i < kPieces / 2 ? kLoops : kLoops / 2) << i;
  });
}

TEST(StepTeam, SeesInALoopWhatTheOneBeforeMade) {
  constexpr std::size_t kCells = 64;
  with_step_team([&](StepTeam& team) {
    std::vector<std::int64_t> now(kCells, 1), next(kCells);
    for (int loop = 0; loop < 500; ++loop) {
      team.run(kCells, [&](std::int64_t i, int) {
        const auto at = static_cast<std::size_t>(i);
        next[at] = (now[at] + now[(at + 7) % kCells]) % 1'000'003;
      });
      now.swap(next);
    }
    for (const std::int64_t x : now) EXPECT_EQ(x, now[0]);
  });
}

TEST(StepTeam, ThrowsTheFirstErrorOfALoopAndDoesTheNextOne) {
  with_step_team([](StepTeam& team) {
    EXPECT_THROW(team.run(100,
                          [](std::int64_t i, int) {
                            if (i == 5) throw std::runtime_error("no");
                          }),
                 std::runtime_error);
    std::atomic<int> done = 0;
    team.run(100, [&](std::int64_t, int) { ++done; });
    EXPECT_EQ(done, 100);
  });
}

TEST(StepTeam, HandsWhatTheDriverThrowsToTheCaller) {
  EXPECT_THROW(with_step_team([](StepTeam&) { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST(StepTeam, EndsWhenTheJobIsToStop) {
  std::stop_source source;
  const StopScope scope(source.get_token());
  int loops = 0;
  try {
    with_step_team([&](StepTeam& team) {
      for (; loops < 10; ++loops) team.run(10, [&](std::int64_t, int) { source.request_stop(); });
    });
    ADD_FAILURE() << "went on";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kCancelled);
  }
  EXPECT_EQ(loops, 0);
}

TEST(StepTeam, HasNoHelpersWithinAParallelLoop) {
  side_by_side(4, [](std::int64_t) {
    with_step_team([](StepTeam& team) {
      EXPECT_EQ(team.size(), host_threads());
      int done = 0;
      team.run(10, [&](std::int64_t, int) { ++done; });
      EXPECT_EQ(done, 10);
    });
  });
}

}   // namespace
}   // namespace kedge::engine
