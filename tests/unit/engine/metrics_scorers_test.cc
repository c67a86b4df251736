// Every scorer of the list against scikit-learn's scores of the same predictions.
#include "engine/metrics/scorers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/metrics/class_counts.h"
#include "engine/metrics/classification.h"
#include "engine/metrics/ranking.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRefused = -123456789, kUnmeasured = -987654321;   // scikit-learn raises an error; the case has no X

using Scores = std::vector<double>;   // in the order of the names of the kind

struct ClassificationCase {
  std::string title;
  std::int32_t n_classes;
  std::vector<std::int32_t> y, predicted;
  std::vector<double> proba;   // in 1024ths
  std::vector<double> decision, weights;
  Scores scores;
};
struct RegressionCase {
  std::string title;
  std::vector<double> y, predicted, weights;
  Scores scores;
};
struct ClusteringCase {
  std::string title;
  std::vector<std::int32_t> y, predicted;
  std::vector<double> X;
  std::int64_t n_features;
  Scores scores;
};
struct CurveCase {
  std::vector<std::int32_t> y;
  std::vector<double> scores, weights;
  bool drop_intermediate;
  std::vector<double> fpr, tpr, roc_thresholds, precision, recall, thresholds;
};
struct MatrixCase {
  std::int32_t n_classes;
  std::vector<std::int32_t> y, predicted;
  std::vector<double> weights;
  std::vector<std::vector<double>> matrices;   // by Normalize
  std::vector<double> kappas;                  // by KappaWeights
};

#include "tests/unit/engine/metrics_golden.inc"

// Sums are taken in another order than numpy's; differences of nearly equal sums (scores around 0) keep fewer digits.
constexpr double kTolerance = 1e-12;

void expect_score(double score, double expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(score)) << what << " is " << score << ", not NaN";
  } else if (std::isinf(expected)) {
    EXPECT_EQ(score, expected) << what;
  } else {
    EXPECT_NEAR(score, expected, kTolerance * std::max(1.0, std::abs(expected))) << what;
  }
}

void expect_scores(const Predictions& predictions, const std::vector<std::string>& names, const Scores& expected,
                   const std::string& title) {
  ASSERT_EQ(names.size(), expected.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Scorer* scorer = find_scorer(names[i]);
    ASSERT_NE(scorer, nullptr) << names[i];
    if (expected[i] == kUnmeasured) continue;
    if (expected[i] == kRefused) {
      EXPECT_THROW(scorer->score(predictions), schema::Error) << names[i] << " of " << title;
    } else {
      expect_score(scorer->score(predictions), expected[i], names[i] + " of " + title);
    }
  }
}

const std::vector<std::string>& names_of(ScorerKind kind) {
  return kind == ScorerKind::kClassification ? kClassificationNames : kind == ScorerKind::kRegression ? kRegressionNames : kClusteringNames;
}

Predictions predictions_of(const ClassificationCase& c, const std::vector<double>& proba) {
  return {.y_true = c.y, .y_pred = c.predicted, .proba = proba, .decision = c.decision, .weights = c.weights,
          .n_classes = c.n_classes};
}

std::vector<double> shares(std::vector<double> in_1024ths) {
  for (double& value : in_1024ths) value /= 1024;
  return in_1024ths;
}

TEST(Scorers, OfClassesAgreeWithScikitLearn) {
  for (const ClassificationCase& c : kClassification) {
    const std::vector<double> proba = shares(c.proba);
    expect_scores(predictions_of(c, proba), kClassificationNames, c.scores, c.title);
  }
}

TEST(Scorers, OfValuesAgreeWithScikitLearn) {
  for (const RegressionCase& c : kRegression) {
    expect_scores({.true_values = c.y, .pred_values = c.predicted, .weights = c.weights}, kRegressionNames, c.scores, c.title);
  }
}

TEST(Scorers, OfClustersAgreeWithScikitLearn) {
  for (const ClusteringCase& c : kClustering) {
    expect_scores({.y_true = c.y, .y_pred = c.predicted, .X = c.X, .n_features = c.n_features}, kClusteringNames, c.scores,
                  c.title);
  }
}

TEST(Scorers, AllHaveScoresToBeComparedWith) {
  for (const Scorer& scorer : scorers()) {
    if (!scorer.score) continue;
    EXPECT_THAT(names_of(scorer.kind), testing::Contains(std::string(scorer.name)));
  }
}

TEST(Scorers, HaveTheNamesOfScikitLearn) {
  std::vector<std::string> expected = kScikitLearnNames;
  for (const char* function : {"cohen_kappa_score", "calinski_harabasz_score", "neg_davies_bouldin_score", "silhouette_score"}) {
    expected.emplace_back(function);
  }
  EXPECT_THAT(scorer_names(), testing::UnorderedElementsAreArray(expected));
  for (const Scorer& scorer : scorers()) EXPECT_EQ(find_scorer(scorer.name), &scorer);
  EXPECT_EQ(find_scorer("acuracy"), nullptr);
}

TEST(Scorers, SayWhatTheyNeed) {
  const ClassificationCase& c = kClassification.front();
  const std::vector<double> proba = shares(c.proba);
  for (const Scorer& scorer : scorers()) {
    if (scorer.kind != ScorerKind::kClassification || !scorer.score) continue;
    Predictions needed{.y_true = c.y, .n_classes = c.n_classes};
    EXPECT_THROW(scorer.score(needed), schema::Error) << scorer.name;
    if (scorer.needs_labels) needed.y_pred = c.predicted;
    if (scorer.needs_proba || scorer.needs_decision) needed.proba = proba;
    const auto at = std::find(kClassificationNames.begin(), kClassificationNames.end(), scorer.name) - kClassificationNames.begin();
    expect_score(scorer.score(needed), c.scores.at(static_cast<std::size_t>(at)), std::string(scorer.name));
  }
}

TEST(Scorers, ForTwoClassesRefuseMoreAndSayWhatToUse) {
  for (const ClassificationCase& c : kClassification) {
    const std::vector<double> proba = shares(c.proba);
    for (const Scorer& scorer : scorers()) {
      if (!scorer.two_classes_only || c.n_classes == 2) continue;
      try {
        scorer.score(predictions_of(c, proba));
        ADD_FAILURE() << scorer.name << " takes " << c.n_classes << " classes";
      } catch (const schema::Error& error) {
        EXPECT_EQ(error.code, schema::ErrorCode::kInvalidValue);
        EXPECT_THAT(error.message, testing::HasSubstr(std::to_string(c.n_classes)));
      }
    }
  }
}

TEST(Curves, AgreeWithScikitLearn) {
  const auto expect_all = [](const std::vector<double>& values, const std::vector<double>& expected, const char* what) {
    ASSERT_EQ(values.size(), expected.size()) << what;
    for (std::size_t i = 0; i < values.size(); ++i) expect_score(values[i], expected[i], what);
  };
  for (const CurveCase& c : kCurves) {
    const ScoreView view{c.y, c.scores, 2, c.weights};
    const RocCurve roc = roc_curve(view, c.drop_intermediate);
    expect_all(roc.fpr, c.fpr, "fpr");
    expect_all(roc.tpr, c.tpr, "tpr");
    expect_all(roc.thresholds, c.roc_thresholds, "thresholds of ROC");
    const PrecisionRecallCurve pr = precision_recall_curve(view, c.drop_intermediate);
    expect_all(pr.precision, c.precision, "precision");
    expect_all(pr.recall, c.recall, "recall");
    expect_all(pr.thresholds, c.thresholds, "thresholds of precision and recall");
  }
}

TEST(ConfusionMatrix, AndWeightedKappaAgreeWithScikitLearn) {
  for (const MatrixCase& c : kMatrices) {
    const LabelView view{c.y, c.predicted, c.n_classes, c.weights};
    for (std::size_t i = 0; i < c.matrices.size(); ++i) {
      const ConfusionMatrix matrix = confusion_matrix(view, static_cast<Normalize>(i));
      ASSERT_EQ(matrix.counts.size(), c.matrices[i].size());
      for (std::size_t j = 0; j < matrix.counts.size(); ++j) expect_score(matrix.counts[j], c.matrices[i][j], "a count");
    }
    for (std::size_t i = 0; i < c.kappas.size(); ++i) {
      expect_score(cohen_kappa_score(view, static_cast<KappaWeights>(i)), c.kappas[i], "kappa");
    }
  }
}

}  // namespace
}  // namespace kedge::engine
