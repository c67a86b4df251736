// When a stream that breaks is given up.
#include "client/sdk/backoff.h"

#include <gtest/gtest.h>

namespace kedge {
namespace {

using namespace std::chrono_literals;

constexpr Patience::Clock::time_point at(std::chrono::seconds seconds) { return Patience::Clock::time_point(seconds); }

TEST(Patience, LastsFromTheFirstBreakOn) {
  Patience patience(60s);
  EXPECT_FALSE(patience.ended(at(0s), at(1s)));
  EXPECT_FALSE(patience.ended(at(60s), at(61s)));
  EXPECT_TRUE(patience.ended(at(61s), at(62s)));
}

TEST(Patience, CountsAnewAfterAnAttemptThatLasted) {
  Patience patience(60s);
  EXPECT_FALSE(patience.ended(at(0s), at(300s)));     // five minutes without an event, then a break
  EXPECT_FALSE(patience.ended(at(300s), at(301s)));
  EXPECT_FALSE(patience.ended(at(301s), at(700s)));
  EXPECT_FALSE(patience.ended(at(700s), at(760s)));
  EXPECT_TRUE(patience.ended(at(760s), at(761s)));
}

}  // namespace
}  // namespace kedge
