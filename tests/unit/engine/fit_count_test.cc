// How many fits a step takes that is made of others, and where too many are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/job/fit_count.h"
#include "engine/job/step_traits.h"

namespace kedge::engine {
namespace {

using schema::Step;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

Value step(const char* estimator, ValueMap params = {}) {
  return ValueMap{{"estimator", estimator}, {"params", std::move(params)}};
}

double fits_of(const char* estimator, ValueMap params) {
  return fit_count(Step{.estimator = estimator, .params = std::move(params)}, "pipeline[0]").fits;
}

const ValueList kTwo{
    ValueList{"nb", step("GaussianNB")},
    ValueMap{{"name", "lr"}, {"estimator", ValueList{step("StandardScaler"), step("LogisticRegression")}}}};

TEST(FitCount, IsOneForWhatHoldsNoOthers) {
  EXPECT_EQ(fits_of("RandomForestClassifier", {{"n_estimators", 1'000'000}}), 1);
  EXPECT_EQ(fits_of("LogisticRegressionCV", {{"cv", 50}}), 1);
  EXPECT_EQ(fits_of("NoSuchEstimator", {}), 1);
}

TEST(FitCount, MultipliesCopiesAndFoldsAndAddsWhatStandsSideBySide) {
  EXPECT_EQ(fits_of("BaggingClassifier", {}), 10);   // of the tree that it takes by itself
  EXPECT_EQ(fits_of("BaggingClassifier",
                    {{"n_estimators", 7}, {"estimator", step("AdaBoostClassifier", {{"n_estimators", 3}})}}),
            21);
  EXPECT_EQ(fits_of("VotingClassifier", {{"estimators", kTwo}}), 3);
  EXPECT_EQ(fits_of("StackingClassifier", {{"estimators", kTwo}, {"cv", 3}, {"final_estimator", step("GaussianNB")}}),
            13);
  EXPECT_EQ(fits_of("StackingClassifier", {{"estimators", kTwo}}), 18);            // 5 folds
  EXPECT_EQ(fits_of("ClassifierChain", {{"estimator", step("GaussianNB")}}), 1);   // no folds
  EXPECT_EQ(fits_of("OneVsRestClassifier", {{"estimator", step("CalibratedClassifierCV", {{"cv", 4}})}}), 5);
}

TEST(FitCount, RefusesTooManyAtTheLargestFactor) {
  const Value stack = step("StackingClassifier", {{"estimators", kTwo}, {"cv", 20}}),
              bag = step("BaggingClassifier", {{"n_estimators", 2000}, {"estimator", stack}});
  try {
    traits_of({.estimator = "BaggingClassifier", .params = {{"n_estimators", 1000}, {"estimator", bag}}},
              "pipeline[1]");
    FAIL() << "was not refused";
  } catch (const schema::Error& error) {
    EXPECT_EQ(error.code, schema::ErrorCode::kInvalidValue);
    EXPECT_EQ(error.where, "pipeline[1].params.estimator.params.n_estimators");
    EXPECT_EQ(
        error.message,
        "BaggingClassifier: a fit takes up to 1.26e+08 fits of the estimators inside of it, must be at most 100000; "
        "n_estimators is 2000, the largest of the numbers that multiply them");
  }
}

TEST(FitCount, AllowsAsManyAsTheLimit) {
  const Value inner = step("AdaBoostClassifier", {{"n_estimators", 100}});
  EXPECT_NO_THROW(traits_of(
      {.estimator = "BaggingClassifier", .params = {{"n_estimators", 1000}, {"estimator", inner}}}, "pipeline[0]"));
  EXPECT_THROW(traits_of({.estimator = "BaggingClassifier", .params = {{"n_estimators", 1001}, {"estimator", inner}}},
                         "pipeline[0]"),
               schema::Error);
}

}   // namespace
}   // namespace kedge::engine
