// Scorers against scikit-learn's scores of the same predictions.
#include "engine/metrics/scorers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kedge::engine {
namespace {

struct GoldenCase {
  std::int32_t n_classes;
  std::vector<std::int32_t> y, predicted;
  std::vector<double> proba;
  std::vector<double> scores;   // in the order of scorers()
};

#include "tests/unit/engine/metrics_golden.inc"

// The mean log loss is summed in another order than numpy's; everything else is a ratio of small integers.
constexpr double kRelativeTolerance = 1e-14;

TEST(Scorers, AgreeWithScikitLearn) {
  for (const GoldenCase& c : kGolden) {
    ASSERT_EQ(c.scores.size(), scorers().size());
    for (std::size_t s = 0; s < c.scores.size(); ++s) {
      const double score = scorers()[s].score({.y_true = c.y, .y_pred = c.predicted, .proba = c.proba, .n_classes = c.n_classes});
      EXPECT_NEAR(score, c.scores[s], kRelativeTolerance * std::abs(c.scores[s])) << scorers()[s].name;
    }
  }
}

TEST(Scorers, AreFoundByName) {
  EXPECT_EQ(scorer_names(), (std::vector<std::string>{"accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss"}));
  for (const Scorer& scorer : scorers()) EXPECT_EQ(find_scorer(scorer.name), &scorer);
  EXPECT_EQ(find_scorer("acuracy"), nullptr);
}

}  // namespace
}  // namespace kedge::engine
