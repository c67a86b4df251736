// The vector form of exp on the CPU, beside the library's.
#include "engine/backend/cpu/fast_exp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kedge::engine {
namespace {

constexpr double kUnits = 2 * std::numeric_limits<double>::epsilon();   // as its header promises

TEST(FastExp, IsWithinTwoUnitsOfTheLibrary) {
  for (double x = -707; x < 700; x += 0.00731) ASSERT_NEAR(fast_exp(x) / std::exp(x), 1, kUnits) << x;
}

TEST(FastExp, IsExactAtZero) {
  EXPECT_EQ(fast_exp(0), 1);
}

TEST(FastExp, IsNearZeroFarBelow) {
  EXPECT_LT(fast_exp(-1e9), 1e-300);
  EXPECT_LT(fast_exp(-std::numeric_limits<double>::infinity()), 1e-300);
}

TEST(FastExp, KeepsNaN) {
  EXPECT_TRUE(std::isnan(fast_exp(std::numeric_limits<double>::quiet_NaN())));
}

}   // namespace
}   // namespace kedge::engine
