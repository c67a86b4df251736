// What lists say of results: a headline of each, and of a long one nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "schemas/codec.h"
#include "server/store/result_headline.h"
#include "server/store/store.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

schema::Result result_of_a_search(std::size_t n_candidates) {
  schema::Result result{.nSamples = 150, .nFeatures = 4};
  result.scores.emplace_back("accuracy", schema::Score{.perFold = {0.5, 1.0}, .mean = 0.75, .std = 0.25});
  result.fitted.emplace_back("PCA", schema::ValueMap{{"mean_", std::vector<double>(1000, 1.0)}});
  result.timings.total = 2.5, result.timings.folds.resize(100);
  result.model = "mdl_1", result.warnings = {"long"};
  result.search = schema::SearchResult{.bestIndex = 3, .bestScore = 0.9, .cvResults = {{"mean_test_score", std::vector<double>(n_candidates, 0.5)}}};
  return result;
}

TEST(Headline, IsShortForAnyResult) {
  const schema::Result head = headline(result_of_a_search(1'000'000));
  EXPECT_LT(schema::to_json(head).size(), 2000u);
  EXPECT_EQ(head.search->bestScore, 0.9);
  EXPECT_EQ(head.scores.front().second.mean, 0.75);
  EXPECT_EQ(head.timings.total, 2.5);
  EXPECT_EQ(head.model, "mdl_1");
  EXPECT_EQ(schema::from_json<schema::Result>(schema::to_json(head)), head);
  schema::Result many;
  for (int i = 0; i < 1000; ++i) many.scores.emplace_back("scorer " + std::to_string(i), schema::Score{});
  EXPECT_LT(headline(many).scores.size(), 100u);
}

TEST(Lists, SayTheScoresOfShortResultsAndNothingOfLongOnes) {
  const tests::TempDir dir;
  Store store(dir.path(), [](const std::string&) {});
  std::promise<void> done;
  store.enqueue({.apply =
                     [](StoreWriter& writer) {
                       for (const auto& [id, n] : {std::pair("job_1", 100), {"job_2", 100'000}}) {
                         writer.insert({.job = {.id = id, .spec = tests::job_spec("Succeed"), .created = "t0"}});
                         writer.change({.job = id, .state = schema::JobState::kRunning, .time = "t1", .new_lease = 7, .starts_attempt = true});
                         writer.change({.job = id, .state = schema::JobState::kSucceeded, .time = "t2", .held_lease = 7,
                                        .result = result_of_a_search(static_cast<std::size_t>(n))});
                       }
                     },
                 .committed = [&] { done.set_value(); }});
  done.get_future().get();
  const schema::JobPage page = store.list(std::nullopt, 10, {});
  ASSERT_EQ(page.jobs.size(), 2u);
  EXPECT_FALSE(page.jobs[0].result.has_value());
  EXPECT_EQ(page.jobs[1].result, headline(result_of_a_search(100)));
  EXPECT_EQ(store.find("job_1")->result, result_of_a_search(100)) << "whole, for a single job";
}

}  // namespace
}  // namespace kedge::server
