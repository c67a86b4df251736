// exp and log as loops of vectors compute them, against the C library's in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/backend/cpu/linear/logistic_rows.h"
#include "engine/backend/simd.h"

namespace kedge::engine {
namespace {

double ulps(double got, long double expected) {
  const auto rounded = static_cast<double>(expected);
  return static_cast<double>(std::abs(got - expected)) / (std::nextafter(std::abs(rounded), 1e300) - std::abs(rounded));
}

TEST(VectorFunctions, ExpIsWithin2Ulp) {
  for (double x = -707; x < 709; x += 0.0417) EXPECT_LE(ulps(vector_exp(x), std::exp(static_cast<long double>(x))), 2) << x;
  EXPECT_EQ(vector_exp(0), 1);
  EXPECT_EQ(vector_exp(-1000), 0);
}

TEST(VectorFunctions, LogIsWithin2Ulp) {
  for (double above = 1e-16; above < 1e300; above *= 1.0171)
    EXPECT_LE(ulps(vector_log(1 + above), std::log(static_cast<long double>(1 + above))), 2) << above;
  EXPECT_EQ(vector_log(1), 0);
  EXPECT_TRUE(std::isnan(vector_log(std::numeric_limits<double>::quiet_NaN())));
}

// A line search must see that its step was too long.
TEST(VectorFunctions, AMarginThatIsNoNumberMakesTheLossNone) {
  for (int bad = 0; bad < 3; ++bad) {
    std::vector<double> z(9 * 3, 0.5);
    z[7 * 3 + bad] = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::int32_t> y(9, 1);
    EXPECT_TRUE(std::isnan(logistic_rows<double>({z.data(), 9, 3, 3}, nullptr, y.data(), nullptr, 0, 9))) << bad;
  }
}

}  // namespace
}  // namespace kedge::engine
