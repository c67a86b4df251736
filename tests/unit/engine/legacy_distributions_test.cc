// The draws of numpy's RandomState that are not uniform, and scikit-learn's samples. Recorded from numpy 2 and
// scikit-learn 1.9.1.
#include "engine/core/legacy_distributions.h"

#include <gtest/gtest.h>

namespace kedge::engine {
namespace {

using Whole = std::vector<std::int64_t>;

TEST(LegacyDistributions, DrawsTheNormalNumbersOfNumpy) {   // RandomState(7).standard_normal(4)
  LegacyRandom random(7);
  LegacyNormal normal;
  for (const double expected : {1.690525703800356, -0.4659373705408328, 0.0328201636785844, 0.40751628299650783})
    EXPECT_DOUBLE_EQ(normal(random), expected);
}

TEST(LegacyDistributions, DrawsTheBinomialNumbersOfNumpy) {   // RandomState(3).binomial(n, p, size=6)
  struct {
    std::int64_t n;
    double p;
    Whole expected;
  } const cases[] = {{1, 0.5, {1, 1, 0, 1, 1, 1}},   // by inversion
                     {100, 0.1, {10, 12, 8, 10, 14, 14}},
                     {100, 0.9, {90, 88, 92, 90, 86, 86}},
                     {5000, 0.02, {100, 82, 100, 94, 93, 93}},   // by BTPE
                     {100000, 0.3, {30007, 29961, 29987, 29883, 29869, 30183}}};
  for (const auto& c : cases) {
    LegacyRandom random(3);
    Whole drawn;
    for (std::size_t i = 0; i < c.expected.size(); ++i) drawn.push_back(legacy_binomial(random, c.n, c.p));
    EXPECT_EQ(drawn, c.expected) << c.n << " " << c.p;
  }
}

TEST(LegacyDistributions,
     DrawsTheSamplesOfScikitLearn) {   // sample_without_replacement(n, size), one RandomState(5) for all
  LegacyRandom random(5);
  EXPECT_EQ(legacy_sample(random, 1000, 4), (Whole{867, 206, 701, 998}));
  EXPECT_EQ(legacy_sample(random, 9, 4), (Whole{5, 8, 2, 3}));
  EXPECT_EQ(legacy_sample(random, 6, 6), (Whole{0, 1, 2, 3, 4, 5}));
  const Whole most = legacy_sample(random, 300, 299);
  EXPECT_EQ(Whole(most.begin(), most.begin() + 5), (Whole{0, 1, 2, 3, 4}));
  EXPECT_EQ(most.size(), 299u);
}

}   // namespace
}   // namespace kedge::engine
