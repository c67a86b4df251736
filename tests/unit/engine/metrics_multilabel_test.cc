// Scorers of labels in several columns against scikit-learn's scores and warnings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/metrics/scorers.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Where only whole numbers are added and one share is taken, no digit differs; others are added in another order than
// numpy's. Of the value, where that is above 1.
constexpr double kTolerance = 1e-15;

struct ColumnScore {
  std::string scorer;
  double value;
  std::string warning;
};
struct MultilabelCase {
  std::string title;
  std::size_t n_columns;
  std::vector<std::int32_t> y, predicted;   // column by column
  std::vector<double> proba;                // of the label, in 64ths
  std::vector<ColumnScore> scores;
};

#include "tests/unit/engine/multilabel_golden.inc"

// The columns of a case, with what they borrow.
struct Columns {
  explicit Columns(const MultilabelCase& c) {
    const std::size_t n = c.y.size() / c.n_columns;
    for (const double p : c.proba) proba.push_back(1 - p / 64), proba.push_back(p / 64);
    for (std::size_t k = 0; k < c.n_columns; ++k)
      predictions.push_back({.y_true = std::span(c.y).subspan(k * n, n),
                             .y_pred = std::span(c.predicted).subspan(k * n, n),
                             .proba = std::span(proba).subspan(2 * k * n, 2 * n),
                             .n_classes = 2});
  }
  std::vector<double> proba;
  std::vector<Predictions> predictions;
};

TEST(MultilabelScorers, AgreeWithScikitLearn) {
  for (const MultilabelCase& c : kMultilabel) {
    const Columns columns(c);
    for (const ColumnScore& expected : c.scores) {
      const Scorer* scorer = find_scorer(expected.scorer);
      ASSERT_TRUE(scorer && scorer->score_columns) << expected.scorer;
      const double score = score_of_outputs(*scorer, columns.predictions);
      const std::string what = expected.scorer + " of " + c.title;
      if (std::isnan(expected.value)) EXPECT_TRUE(std::isnan(score)) << what;
      else if (expected.scorer.ends_with("_micro") || expected.scorer == "accuracy")
        EXPECT_EQ(score, expected.value) << what;
      else if (std::isinf(expected.value)) EXPECT_EQ(score, expected.value) << what;
      else EXPECT_NEAR(score, expected.value, kTolerance * std::max(1.0, std::abs(expected.value))) << what;
    }
  }
}

TEST(MultilabelScorers, WarnWhereScikitLearnDoes) {
  for (const MultilabelCase& c : kMultilabel) {
    const Columns columns(c);
    for (const ColumnScore& expected : c.scores) {
      const auto warning = find_scorer(expected.scorer)->warning_of_columns;
      EXPECT_EQ(warning ? warning(columns.predictions) : "", expected.warning) << expected.scorer << " of " << c.title;
    }
  }
}

TEST(MultilabelScorers, AreAllCompared) {
  std::vector<std::string> compared;
  for (const ColumnScore& score : kMultilabel.front().scores) compared.push_back(score.scorer);
  for (const Scorer& scorer : scorers()) {
    if (scorer.kind != ScorerKind::kClassification || !scorer.score_columns) continue;
    EXPECT_THAT(compared, testing::Contains(std::string(scorer.name)));
  }
}

TEST(MultilabelScorers, OfOneColumnAreThoseOfItsLabel) {
  const Columns columns(kMultilabel.front());
  const std::span<const Predictions> first = std::span(columns.predictions).first(1);
  for (const char* metric : {"f1", "jaccard", "precision", "recall"})
    for (const char* average : {"_macro", "_micro", "_weighted"})
      EXPECT_EQ(score_of_outputs(*find_scorer(std::string(metric) + average), first),
                find_scorer(metric)->score(first.front()));
  for (const char* name : {"roc_auc", "neg_log_loss", "neg_brier_score", "d2_log_loss_score", "d2_brier_score"}) {
    EXPECT_EQ(score_of_outputs(*find_scorer(name), first), find_scorer(name)->score(first.front())) << name;
    EXPECT_EQ(find_scorer(name)->warning_of_columns(first), "") << name;
  }
}

TEST(MultilabelScorers, TakeNoOtherColumns) {
  Columns columns(kMultilabel.front());
  const std::vector<double> weights(columns.predictions[1].y_true.size(), 1.0);
  columns.predictions[1].weights = weights;
  EXPECT_THROW(score_of_outputs(*find_scorer("f1_macro"), columns.predictions), schema::Error);
  columns.predictions[1].weights = {}, columns.predictions[1].n_classes = 3;
  EXPECT_THROW(score_of_outputs(*find_scorer("f1_samples"), columns.predictions), schema::Error);
  EXPECT_THROW(score_of_outputs(*find_scorer("roc_auc"), columns.predictions), schema::Error);
  EXPECT_THROW(score_of_outputs(*find_scorer("f1"), columns.predictions), schema::Error);
}

}   // namespace
}   // namespace kedge::engine
