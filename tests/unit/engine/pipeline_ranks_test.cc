// Jobs on several ranks: the results of one process, bit for bit.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/backend/loader.h"
#include "engine/comm/ranks.h"
#include "engine/comm/threads.h"
#include "engine/job/dealt.h"
#include "engine/pipeline.h"
#include "schemas/codec.h"
#include "tests/unit/engine/builtin_data.h"

namespace kedge::engine {
namespace {

using schema::JobSpec;
using testing::HasSubstr;

JobSpec spec_from(const std::string& json) {
  return schema::from_json<JobSpec>(json);
}

// What does not depend on the clock.
std::string lasting(schema::Result result, const std::string& model) {
  result.timings = {}, result.memory = {};
  if (result.search) {
    result.search->refit = 0;
    std::erase_if(result.search->cvResults,
                  [](const auto& column) { return column.first.find("_time") != std::string::npos; });
  }
  return schema::to_json(result) + "\nmodel of " + std::to_string(model.size()) + " bytes " +
         std::to_string(std::hash<std::string>()(model));
}

std::string run_alone(const JobSpec& spec, Ranks* ranks = nullptr) {
  const std::unique_ptr<Device> device = open_device("cpu");
  RunFiles files{.model_file = "/nonexistent/model", .keep = std::size_t{64} << 20};
  const bool is_first = !ranks || ranks->is_first();
  const RanksScope scope(ranks);
  schema::Result result = Pipeline::build(spec).run({.device = *device, .seed = 0},
                                                    builtin(std::get<schema::BuiltinRef>(spec.dataset.source).name), {},
                                                    is_first ? &files : nullptr);
  return lasting(std::move(result), files.model_bytes);
}

// By rank; an error becomes its message.
std::vector<std::string> run_on_ranks(const JobSpec& spec, int size) {
  const auto comms = make_thread_comms(size);
  std::vector<std::string> results(comms.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < comms.size(); ++r) {
      threads.emplace_back([&, r] {
        Ranks ranks(*comms[r]);
        std::optional<schema::Error> error;
        try {
          results[r] = run_alone(spec, &ranks);
        } catch (const schema::Error& failure) {
          error = failure;
        }
        error = ranks.end(error);
        if (error) results[r] = error->message;
      });
    }
  }
  return results;
}

struct DealtJob {
  std::string name, spec;
  friend void PrintTo(const DealtJob& job, std::ostream* out) { *out << job.name; }
};

std::vector<DealtJob> dealt_jobs() {
  return {
      {"CrossValidation",
       R"({"dataset": {"builtin": "wine"}, "pipeline": [{"estimator": "StandardScaler"}, {"estimator": "LogisticRegression"}],
        "task": {"crossValidate": {"cv": 5, "returnTrainScore": true, "confusionMatrix": true, "scoring": ["accuracy", "f1_macro"]}}})"},
      {"CrossValidationOfAForest", R"({"dataset": {"builtin": "digits"},
        "pipeline": [{"estimator": "RandomForestClassifier", "params": {"n_estimators": 7}}], "task": {"crossValidate": {"cv": 3}}})"},
      {"Grid",
       R"({"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "PCA"}, {"estimator": "KNeighborsClassifier"}],
        "task": {"gridSearch": {"paramGrid": {"pca__n_components": [5, 10, 20], "kneighborsclassifier__n_neighbors": [1, 3]},
                                "crossValidate": {"cv": 4}}}})"},
      {"GridOfSteps",
       R"({"dataset": {"builtin": "wine"}, "pipeline": [{"estimator": "StandardScaler"}, {"name": "model", "estimator": "GaussianNB"}],
        "task": {"gridSearch": {"paramGrid": [
          {"model": [{"estimator": "LogisticRegression"}], "model__C": [0.1, 1.0]},
          {"model": [{"estimator": "RandomForestClassifier"}], "model__n_estimators": [5, 40], "model__max_depth": [2, 6]}]}}})"},
      {"GridWithFailures", R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "KNeighborsClassifier"}],
        "task": {"gridSearch": {"paramGrid": {"n_neighbors": [3, 119, 500, 121]}}}})"},
      {"Halving", R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "RandomForestClassifier"}],
        "task": {"halvingGridSearch": {"paramGrid": {"max_depth": [1, 2, 3, 4], "min_samples_leaf": [1, 5]}, "resource": "n_estimators",
                                       "maxResources": 20, "minResources": 2}}})"},
      {"Forest", R"({"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "RandomForestClassifier",
        "params": {"n_estimators": 13, "oob_score": true}}], "task": {"fit": {}}})"},
      {"ForestWithFewerTreesThanRanks",
       R"({"dataset": {"builtin": "diabetes"}, "pipeline": [{"estimator": "StandardScaler"},
        {"estimator": "ExtraTreesRegressor", "params": {"n_estimators": 2}}], "task": {"fitScore": {}}})"},
  };
}

class PipelineOnRanks : public testing::TestWithParam<std::tuple<DealtJob, int>> {};
INSTANTIATE_TEST_SUITE_P(Jobs, PipelineOnRanks,
                         testing::Combine(testing::ValuesIn(dealt_jobs()), testing::Values(2, 3, 4, 7)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "On" + std::to_string(std::get<1>(info.param));
                         });

TEST_P(PipelineOnRanks, GivesTheResultOfOneProcess) {
  const auto& [job, size] = GetParam();
  const JobSpec spec = spec_from(job.spec);
  EXPECT_TRUE(job_is_dealt(spec));
  EXPECT_EQ(run_on_ranks(spec, size)[0], run_alone(spec));
}

TEST(PipelineOnRanksErrors, AreThoseOfOneProcessOnEveryRank) {
  // The third candidate fails on every fold, which some ranks see and others do not.
  const JobSpec spec =
      spec_from(R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "KNeighborsClassifier"}],
    "task": {"gridSearch": {"paramGrid": {"n_neighbors": [1, 2, 500, 4]}, "errorScore": "raise"}}})");
  std::string alone;
  try {
    run_alone(spec);
  } catch (const schema::Error& error) {
    alone = error.message;
  }
  EXPECT_THAT(alone, HasSubstr("500"));
  for (const std::string& message : run_on_ranks(spec, 3)) EXPECT_EQ(message, alone);
}

TEST(DealtJobs, AreSearchesValidationsAndForests) {
  const auto with = [](const char* estimator, const char* task) {
    return spec_from(fmt::format(
        R"({{"dataset": {{"builtin": "iris"}}, "pipeline": [{{"estimator": "{}"}}], "task": {{"{}": {{}}}}}})",
        estimator, task));
  };
  EXPECT_TRUE(job_is_dealt(with("Ridge", "crossValidate")));
  EXPECT_TRUE(job_is_dealt(with("RandomForestClassifier", "fit")));
  EXPECT_TRUE(job_is_dealt(with("ExtraTreesRegressor", "fitScore")));
  EXPECT_FALSE(job_is_dealt(with("Ridge", "fit")));
  EXPECT_FALSE(job_is_dealt(with("DecisionTreeClassifier", "fit")));
}

}   // namespace
}   // namespace kedge::engine
