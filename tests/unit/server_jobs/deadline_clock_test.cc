// Deadlines: each is reached once, in order, also if the clock waited for another when it was set.
#include "server/jobs/deadline_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kedge::server {
namespace {

using testing::ElementsAre;
using Clock = DeadlineClock::Clock;
using std::chrono::milliseconds;

constexpr std::chrono::hours kLater(10);

class DeadlineClockTest : public testing::Test {
 protected:
  void set(const std::string& job, Clock::duration after) { clock_.set(job, start_ + after); }
  // What was reached, once it is that many, or after ten seconds.
  std::vector<std::string> reached(std::size_t n) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return reached_.size() >= n; });
    return reached_;
  }

  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> reached_;
  DeadlineClock clock_{[this](const std::string& job) {
    const std::lock_guard lock(mutex_);
    reached_.push_back(job);
    changed_.notify_one();
  }};
};

TEST_F(DeadlineClockTest, ReachesThemInOrder) {
  set("third", milliseconds(60));
  set("first", milliseconds(20));
  set("second", milliseconds(40));
  EXPECT_THAT(reached(3), ElementsAre("first", "second", "third"));
}

TEST_F(DeadlineClockTest, IsWokenByAnEarlierOne) {
  set("late", kLater);
  std::this_thread::sleep_for(milliseconds(20));   // it waits by now
  set("early", milliseconds(30));
  EXPECT_THAT(reached(1), ElementsAre("early"));
}

TEST_F(DeadlineClockTest, WaitsOnWhereWhatItWaitedForIsPutOff) {
  set("a", milliseconds(20));
  set("a", kLater);
  std::this_thread::sleep_for(milliseconds(40));
  EXPECT_THAT(reached(0), ElementsAre());
  set("b", milliseconds(60));
  EXPECT_THAT(reached(1), ElementsAre("b"));
}

TEST_F(DeadlineClockTest, ForgetsOneThatHasNoneAnyMore) {
  set("a", milliseconds(20));
  clock_.set("a", Clock::time_point::max());
  set("b", milliseconds(40));
  EXPECT_THAT(reached(1), ElementsAre("b"));
}

TEST_F(DeadlineClockTest, ReachesAJobAgainThatHasANewOne) {
  set("a", -milliseconds(1));
  EXPECT_THAT(reached(1), ElementsAre("a"));
  set("a", milliseconds(1));
  EXPECT_THAT(reached(2), ElementsAre("a", "a"));
}

TEST_F(DeadlineClockTest, EndsWhileItWaits) { set("a", kLater); }

}   // namespace
}   // namespace kedge::server
