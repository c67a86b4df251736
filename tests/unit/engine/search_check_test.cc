// The check of a search: what candidates share, what they may take, and that every form of a step is checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/core/process_memory.h"
#include "engine/job/job_check.h"
#include "engine/job/param_path.h"
#include "engine/job/scorer_check.h"
#include "engine/job/step_traits.h"
#include "engine/metrics/scorers.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::JobSpec;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr std::int64_t kMemory = std::int64_t{256} << 20;   // of any check

template <class Action>
std::optional<Error> error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

Value step(const char* estimator, ValueMap params = {}) { return ValueMap{{"estimator", estimator}, {"params", std::move(params)}}; }

// Names of columns, half a megabyte of them.
ValueList many_names() {
  ValueList names;
  for (int i = 0; i < 60'000; ++i) names.emplace_back("c" + std::to_string(100'000 + i));
  return names;
}

Value numbers(std::size_t n) {
  ValueList list;
  for (std::size_t i = 0; i < n; ++i) list.emplace_back(1.0 + static_cast<double>(i));
  return list;
}

JobSpec large_search(Value grid) {
  return {.dataset = {schema::BuiltinRef{"iris"}},
          .pipeline = {{"ColumnTransformer", {{"transformers", ValueList{ValueList{"num", step("StandardScaler"), many_names()}}}}},
                       {"LogisticRegression", {}}},
          .task = schema::GridSearch{.paramGrid = std::move(grid)}};
}

TEST(SearchCheck, HoldsOnceWhatCandidatesLeaveAlone) {
  const JobSpec spec = large_search(ValueMap{{"logisticregression__C", numbers(10'000)}});
  const MemoryBound bound(kMemory);
  const CheckedJob job = check_job(spec);
  ASSERT_EQ(job.candidates.size(), 10'000u);
  const SharedSteps own = shared_steps(job.spec.pipeline), last = with_params(own, job.candidates[9'999], "task");
  EXPECT_EQ(last[0], own[0]);
  EXPECT_EQ(last[1]->params, (ValueMap{{"C", 10'000.0}}));
}

TEST(SearchCheck, RefusesALargeStepInTooManyForms) {
  const JobSpec spec = large_search(ValueMap{{"columntransformer__num__with_mean", ValueList{true, false}}, {"columntransformer__transformer_weights", [] {
                                       ValueList weights;
                                       for (int i = 0; i < 5'000; ++i) weights.emplace_back(ValueMap{{"num", 1.0 + i}});
                                       return weights;
                                     }()}});
  const MemoryBound bound(kMemory);
  const auto error = error_of([&] { check_job(spec); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error->where, "task.gridSearch.paramGrid");
  EXPECT_THAT(error->message, testing::AllOf(testing::HasSubstr("pipeline[0]"), testing::HasSubstr("1024 MiB")));
}

TEST(SearchCheck, RefusesValuesThatTooManyCandidatesList) {
  const ValueList forms = {step("ColumnTransformer", {{"transformers", ValueList{ValueList{"num", "passthrough", many_names()}}}})};
  const JobSpec spec = large_search(ValueMap{{"columntransformer", forms}, {"logisticregression__C", numbers(10'000)}});
  const MemoryBound bound(kMemory);
  const auto error = error_of([&] { check_job(spec); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ErrorCode::kInvalidValue);
  EXPECT_EQ(error->where, "task.gridSearch.paramGrid.columntransformer");
  EXPECT_THAT(error->message, testing::HasSubstr("at most 64 MiB"));
}

TEST(SearchCheck, TakesAHundredThousandCandidates) {
  const JobSpec spec{.dataset = {schema::BuiltinRef{"iris"}},
                     .pipeline = {{"StandardScaler", {}}, {"PCA", {}}, {"LogisticRegression", {}}},
                     .task = schema::GridSearch{.paramGrid = ValueMap{{"logisticregression__C", numbers(1'000)},
                                                                      {"logisticregression__tol", numbers(50)},
                                                                      {"pca__whiten", ValueList{true, false}}}}};
  const MemoryBound bound(kMemory);
  EXPECT_EQ(check_job(spec).candidates.size(), 100'000u);
}

TEST(SearchCheck, KeepsItsBudget) {
  const JobSpec spec = large_search(ValueMap{{"logisticregression__C", numbers(10'000)}});
  const auto late = error_of([&] { check_job(spec, {.processor_time = std::chrono::nanoseconds(1)}); });
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->code, ErrorCode::kInvalidValue);
  EXPECT_EQ(late->where, "pipeline");
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = error_of([&] { check_job(spec, {.stop = stop.get_token()}); });
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(stopped->code, ErrorCode::kCancelled);
}

TEST(SearchCheck, BoundsThePatternsOfAPipeline) {
  ValueList parts;
  for (int i = 0; i <= static_cast<int>(kMostPatterns); ++i) parts.push_back(ValueList{"t" + std::to_string(i), "drop", ValueMap{{"pattern", "a"}}});
  const JobSpec spec{.dataset = {schema::BuiltinRef{"iris"}}, .pipeline = {{"ColumnTransformer", {{"transformers", parts}}}}, .task = schema::Fit{}};
  const auto error = error_of([&] { check_job(spec); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->where, "pipeline");
  EXPECT_THAT(error->message, testing::HasSubstr("1001 patterns"));
}

TEST(CheckSize, GrowsWithTheCandidates) {
  const JobSpec few = large_search(ValueMap{{"logisticregression__C", numbers(2)}}), many = large_search(ValueMap{{"logisticregression__C", numbers(2'000)}});
  EXPECT_GT(check_size(few), std::size_t{1} << 20);
  EXPECT_GT(check_size(many), 500 * check_size(few));
}

// What a search is refused with when every candidate is written out and checked alone.
std::optional<Error> error_of_each_alone(const JobSpec& spec) {
  const std::string where = "task.gridSearch.paramGrid";
  return error_of([&] {
    const auto target = target_kind_of(check_job({.dataset = spec.dataset, .pipeline = spec.pipeline, .task = schema::Fit{}}).steps);
    const Candidates candidates = grid_candidates(parse_param_spaces(std::get<schema::GridSearch>(spec.task).paramGrid, where, false), where);
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const std::vector<schema::Step> steps = copied(with_params(shared_steps(spec.pipeline), candidates[c], where));
      std::vector<StepTraits> traits;
      for (const schema::Step& step : steps) {
        try {
          traits.push_back(traits_of(step, "pipeline"));
        } catch (const Error& error) {
          throw Error(error.code, "candidate " + schema::to_string(candidates[c]) + ": " + error.message, where);
        }
      }
      check_order(steps, traits, where);
      if (!traits.back().predicts) throw Error(ErrorCode::kInvalidValue, "a search needs a last step that predicts", "pipeline");
      check_scorer(*find_scorer("accuracy"), traits.back(), where);
      if (c > 0 && target_kind_of(traits) != target)
        throw Error(ErrorCode::kInvalidValue, "candidate " + schema::to_string(candidates[c]) + " reads another kind of target than the first", where);
    }
  });
}

TEST(SearchCheck, RefusesWhatEachCandidateAloneWouldBeRefusedFor) {
  std::mt19937 random(7);
  const auto pick = [&](const ValueList& values, std::size_t most) {
    ValueList list;
    for (std::size_t n = 1 + random() % most; n > 0; --n) list.push_back(values[random() % values.size()]);
    return list;
  };
  const std::vector<std::pair<std::string, ValueList>> choices = {
      {"standardscaler", {"passthrough", step("MinMaxScaler"), step("PCA"), step("GaussianNB")}},
      {"standardscaler__with_mean", {true, false}},
      {"pca", {step("PCA", {{"n_components", 2}}), "passthrough", step("PCA")}},
      {"pca__n_components", {1, 2, 3, 4, 5, 6, 7, 0}},
      {"pca__whiten", {true, false}},
      {"logisticregression", {step("LogisticRegression"), step("GaussianNB"), step("LinearRegression")}},
      {"logisticregression__C", {0.5, 1.0, 2.0, 4.0, 8.0}},
      {"logisticregression__penalty", {"l1", "l2"}},
      {"logisticregression__solver", {"lbfgs", "saga", "newton-cg"}}};
  int refused = 0;
  for (int trial = 0; trial < 400; ++trial) {
    ValueList spaces;
    for (std::size_t s = 1 + random() % 2; s > 0; --s) {
      ValueMap space;
      for (const auto& [path, values] : choices)
        if (random() % 4 == 0) space.emplace_back(path, pick(values, 3));
      spaces.push_back(std::move(space));
    }
    const JobSpec spec{.dataset = {schema::BuiltinRef{"iris"}},
                       .pipeline = {{"StandardScaler", {}}, {"PCA", {}}, {"LogisticRegression", {}}},
                       .task = schema::GridSearch{.paramGrid = spaces, .crossValidate = {.scoring = {"accuracy"}}}};
    const auto wanted = error_of_each_alone(spec), found = error_of([&] { check_job(spec); });
    const std::string grid = schema::to_string(spaces);
    ASSERT_EQ(found.has_value(), wanted.has_value()) << grid << (found ? found->message : wanted ? wanted->message : "");
    if (!found) continue;
    ++refused;
    EXPECT_EQ(found->code, wanted->code) << grid;
    EXPECT_THAT(found->message, testing::StartsWith(wanted->message)) << grid;
    EXPECT_THAT(found->where, testing::StartsWith(wanted->where)) << grid;
  }
  EXPECT_GT(refused, 50);
  EXPECT_LT(refused, 350);
}

}  // namespace
}  // namespace kedge::engine
