// Mean and standard deviation of the scores of the folds.
#include <gtest/gtest.h>

#include "engine/model_selection/cross_validate.h"

namespace kedge::engine {
namespace {

TEST(Summarize, TakesThePopulationStandardDeviation) {
  const schema::Score score = summarize({0.5, 1.0, 0.75, 0.75});
  EXPECT_EQ(score.perFold, (std::vector<double>{0.5, 1.0, 0.75, 0.75}));
  EXPECT_DOUBLE_EQ(score.mean, 0.75);
  EXPECT_DOUBLE_EQ(score.std, 0.17677669529663687);   // numpy.std of the same numbers
}

TEST(Summarize, HasNoSpreadForOneScore) {
  EXPECT_EQ(summarize({0.25}).std, 0);
  EXPECT_EQ(summarize({0.25}).mean, 0.25);
}

}  // namespace
}  // namespace kedge::engine
