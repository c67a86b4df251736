// Early stopping of networks by scorers: the numbers of other scores where they mean the same, and what has no score.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "engine/metrics/scorers.h"
#include "network_fixture.h"

namespace kedge::engine {
namespace {

using schema::ValueMap;
using testing::Answer;
using testing::answer;
using testing::Data;
using ::testing::Each;
using testing::failure;
using ::testing::HasSubstr;
using testing::refusal;
using testing::rings;
using ::testing::SizeIs;
using testing::texts;

constexpr double kNear = 1e-9;

ValueMap params(const std::string& scoring) {
  return {{"layers", texts({"dense(16, tanh)"})},
          {"learning_rate_init", 0.05},
          {"max_iter", 8},
          {"early_stopping", true},
          {"validation_fraction", 0.25},
          {"n_iter_no_change", "inf"},
          {"random_state", 2},
          {"scoring", scoring}};
}

// The classes "a" and "b" alone.
Data two_rings() {
  Data data = rings();
  data.classes = {"a", "b"};
  for (std::int32_t& code : data.y) code = std::min(code, 1);
  return data;
}

std::vector<double> scores(const Answer& found) {
  return found.numbers("validation_scores_");
}

void expect_scores(const std::vector<double>& got, const std::vector<double>& expected, double factor = 1) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], factor * expected[i], kNear) << "epoch " << i;
}

// A scorer that is another name of accuracy, R^2 or the loss, with weights.
TEST(NetworkScoring, GivesTheNumbersOfTheScorer) {
  const Data three = rings(), two = two_rings();
  std::vector<double> weights;
  for (int i = 0; i < 400; ++i) weights.push_back(0.5 + i % 3);
  for (const auto& own : {std::vector<double>(), weights}) {
    const auto of = [&](const char* name, const char* scoring, const Data& data) {
      return scores(answer(name, params(scoring), data, "cpu", own));
    };
    for (const Data* data : {&three, &two}) {
      expect_scores(of("MLPClassifier", "accuracy", *data), of("MLPClassifier", "score", *data));
      expect_scores(of("MLPClassifier", "neg_log_loss", *data), of("MLPClassifier", "loss", *data));
    }
    expect_scores(of("MLPRegressor", "r2", three), of("MLPRegressor", "score", three));
    expect_scores(of("MLPRegressor", "neg_mean_squared_error", three), of("MLPRegressor", "loss", three), 2);
    ValueMap poisson = params("r2");
    poisson.emplace_back("loss", "poisson");
    const std::vector<double> by_name = scores(answer("MLPRegressor", poisson, three, "cpu", own));
    poisson[poisson.size() - 2].second = "score";
    expect_scores(by_name, scores(answer("MLPRegressor", poisson, three, "cpu", own)));
  }
}

TEST(NetworkScoring, TakesEveryScorerOfItsKind) {
  const Data data = two_rings();
  Data positive = data;   // for deviances and logarithms; exponentials are positive, too
  for (double& value : positive.values) value += 1;
  int taken = 0;
  for (const Scorer& scorer : scorers()) {
    if (scorer.kind == ScorerKind::kClustering || !scorer.score)
      continue;   // without score(): of several targets alone
    const bool is_classifier = scorer.kind == ScorerKind::kClassification;
    ValueMap own = params(std::string(scorer.name));
    if (!is_classifier) own.emplace_back("loss", "poisson");
    const Answer found = answer(is_classifier ? "MLPClassifier" : "MLPRegressor", own, is_classifier ? data : positive);
    const std::vector<double> all = scores(found);
    EXPECT_THAT(all, SizeIs(8)) << scorer.name;
    double best = -INFINITY;
    for (const double score : all) best = score > best ? score : best;   // NaN is never the best
    EXPECT_EQ(std::get<double>(find_value(found.attributes, "best_validation_score_")->data), best) << scorer.name;
    EXPECT_EQ(std::get<std::int64_t>(find_value(found.attributes, "best_epoch_")->data),
              std::ranges::find(all, best) - all.begin() + 1)
        << scorer.name;
    ++taken;
  }
  EXPECT_GT(taken, 40);
}

// What is kept is the epoch that the scorer finds best, which the loss does not.
TEST(NetworkScoring, KeepsTheEpochThatItFindsBest) {
  const Data data = two_rings();
  const auto best_epoch = [](const Answer& found) {
    return std::get<std::int64_t>(find_value(found.attributes, "best_epoch_")->data);
  };
  ValueMap by_recall = params("recall");
  const Answer recall = answer("MLPClassifier", by_recall, data), loss = answer("MLPClassifier", params("loss"), data);
  ASSERT_NE(best_epoch(recall), best_epoch(loss));
  by_recall[2].second = best_epoch(recall);   // max_iter: the best epoch is then the last
  EXPECT_EQ(answer("MLPClassifier", by_recall, data).predictions, recall.predictions);
}

TEST(NetworkScoring, IsTheSameAtAnyNumberOfThreadsAndNearOnEveryDevice) {
  const Data data = rings();
  const int before = omp_get_max_threads();
  Answer found[2];
  for (const int threads : {1, 2}) {
    omp_set_num_threads(threads);
    found[threads - 1] = answer("MLPClassifier", params("roc_auc_ovr"), data);
  }
  omp_set_num_threads(before);
  EXPECT_EQ(scores(found[0]), scores(found[1]));
  EXPECT_EQ(found[0].predictions, found[1].predictions);
  expect_scores(scores(answer("MLPClassifier", params("neg_log_loss"), data, "emulated")),
                scores(answer("MLPClassifier", params("neg_log_loss"), data)));
}

TEST(NetworkScoring, IsNamedInEvents) {
  ValueMap told = params("roc_auc");
  told.emplace_back("verbose", true);
  std::vector<std::string> said = answer("MLPClassifier", told, two_rings()).said;
  std::erase_if(said, [](const std::string& message) { return message.find(": epoch ") == std::string::npos; });
  EXPECT_THAT(said, SizeIs(8));
  EXPECT_THAT(said, Each(HasSubstr(", validation roc_auc 0.")));
}

TEST(NetworkScoring, RefusesWhatCannotBeScored) {
  EXPECT_THAT(refusal("MLPRegressor", {{"early_stopping", true}, {"scoring", "accuracy"}}), HasSubstr("scoring"));
  EXPECT_THAT(refusal("MLPClassifier", {{"early_stopping", true}, {"scoring", "r2"}}), HasSubstr("scoring"));
  EXPECT_THAT(refusal("MLPClassifier", {{"scoring", "roc_auc"}}),
              HasSubstr("scoring is \"roc_auc\", needs early_stopping"));
  EXPECT_THAT(refusal("MLPClassifier", {{"early_stopping", true}, {"scoring", "roc_auc"}, {"solver", "lbfgs"}}),
              HasSubstr("solver"));
  EXPECT_THAT(failure("MLPClassifier", params("f1"), rings()),
              HasSubstr("scoring is \"f1\", must be a score of more than"));
  ValueMap few = params("roc_auc_ovr");   // two rows, which lack a class
  few[4].second = 0.005;
  EXPECT_THAT(failure("MLPClassifier", few, rings()),
              HasSubstr("scoring roc_auc_ovr was not a number in any of 8 epochs: the 2 rows set aside lack"));
  ValueMap negative = params("neg_mean_squared_log_error");
  Data below = rings();
  for (double& value : below.values) value = -2 - value;
  EXPECT_THAT(failure("MLPRegressor", negative, below), HasSubstr("log"));
}

}   // namespace
}   // namespace kedge::engine
