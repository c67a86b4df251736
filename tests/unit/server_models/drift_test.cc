// Stability indices against numpy, and what is kept of the rows that models are asked about.
#include "server/models/drift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/models/drift_book.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<double> kTrained{46.0 / 500, 45.0 / 500, 46.0 / 500, 45.0 / 500, 45.0 / 500, 46.0 / 500,
                                   45.0 / 500, 46.0 / 500, 45.0 / 500, 45.0 / 500, 46.0 / 500};
const std::vector<std::int64_t> kSeen{30, 41, 42, 39, 42, 41, 54, 28, 40, 97, 46};

// By numpy: t, s = maximum(shares, 1e-4); ((s - t) * log(s / t)).sum()
TEST(StabilityIndex, IsThatOfNumpy) {
  std::vector<double> seen;
  for (const std::int64_t count : kSeen) seen.push_back(static_cast<double>(count) / 500);
  EXPECT_NEAR(stability_index(kTrained, seen), 0.12064095584948731, 1e-14);
  const std::vector<double> before{0.1, 0.2, 0.3, 0.4, 0}, now{0.4, 0.3, 0.2, 0, 0.1};   // empty bins count as 1e-4
  EXPECT_NEAR(stability_index(before, now), 4.503856533404717, 1e-12);
  EXPECT_EQ(stability_index(before, before), 0);
}

schema::ModelProfile profile() {
  schema::ProfileColumn number{.shares = kTrained}, category{.categories = {"a", "b"}, .shares = {0.5, 0.25, 0, 0.25}};
  for (int k = 1; k < 10; ++k) number.edges.push_back(k);
  return {.rows = 500, .columns = {number, category}};
}

schema::ModelInfo model() {
  return {.id = "mdl_1", .columns = {{.name = "x"}, {.name = "c", .kind = "category", .categories = {"a", "b"}}}};
}

// An answer about rows that fall as in kSeen, and all have the category b.
schema::AnswerReport answer(bool with_profile) {
  schema::AnswerReport report{.rows = 500, .counts = kSeen};
  for (std::int64_t bin = 0; bin < std::ssize(kSeen); ++bin) report.bins.push_back(bin);
  report.bins.push_back(12), report.counts.push_back(500);
  if (with_profile) report.profile = profile();
  return report;
}

TEST(Drift, IsOfEachColumnInTheModelsOrder) {
  schema::DriftCounts counts{.since = "now", .rows = 500, .counts = kSeen, .profile = profile()};
  counts.counts.insert(counts.counts.end(), {0, 500, 0, 0});
  const schema::ModelDrift drift = drift_of(model(), counts);
  EXPECT_EQ(drift.rows, 500);
  EXPECT_EQ(drift.trainedRows, 500);
  ASSERT_EQ(drift.columns.size(), 2u);
  EXPECT_EQ(drift.columns[0].name, "x");
  EXPECT_NEAR(drift.columns[0].psi.value(), 0.12064095584948731, 1e-14);
  EXPECT_EQ(drift.columns[0].trainedMissing, 46.0 / 500);
  EXPECT_EQ(drift.columns[0].seen.size(), 10u);
  EXPECT_EQ(drift.columns[1].kind, "category");
  EXPECT_THAT(drift.columns[1].seen, ElementsAre(0, 1, 0));
  EXPECT_EQ(drift.columns[1].seenMissing, 0);
  EXPECT_EQ(drift.psi, drift.columns[1].psi);   // the largest
  EXPECT_EQ(largest_index(counts), drift.psi);
}

TEST(Drift, HasNoIndexOfFewRowsAndSaysWhyThereAreNoColumns) {
  schema::DriftCounts counts{
      .rows = kFewestDriftRows - 1, .counts = std::vector<std::int64_t>(15, 9), .profile = profile()};
  const schema::ModelDrift few = drift_of(model(), counts);
  EXPECT_FALSE(few.psi);
  EXPECT_FALSE(few.columns[0].psi);
  EXPECT_FALSE(largest_index(counts));
  counts.profile.reset();
  const schema::ModelDrift none = drift_of(model(), counts);
  EXPECT_THAT(none.columns, IsEmpty());
  EXPECT_NE(none.note.find("no profile"), std::string::npos);
  EXPECT_FALSE(largest_index(counts));
}

class DriftBookTest : public testing::Test {
 protected:
  DriftBookTest() { std::filesystem::create_directories(folder()); }
  std::filesystem::path folder() const { return dir_ / "serving"; }

  tests::TempDir dir_;
};

TEST_F(DriftBookTest, AddsUpAndOutlivesARestart) {
  schema::DriftCounts before;
  {
    DriftBook book(folder());
    EXPECT_FALSE(book.find("mdl_1"));
    book.note("mdl_1", answer(true)), book.note("mdl_1", answer(false));
    before = book.find("mdl_1").value();
    EXPECT_EQ(before.rows, 1000);
    EXPECT_EQ(before.counts[0], 60);
    EXPECT_EQ(before.counts[12], 1000);
    EXPECT_FALSE(before.since.empty());
    EXPECT_TRUE(book.largest_index("mdl_1"));
  }
  DriftBook again(folder());
  EXPECT_EQ(again.find("mdl_1"), before);
  again.note("mdl_1", answer(false));
  EXPECT_EQ(again.find("mdl_1")->rows, 1500);
  EXPECT_EQ(again.find("mdl_1")->since, before.since);
}

TEST_F(DriftBookTest, WritesWhileItRuns) {
  DriftBook book(folder());
  book.note("mdl_1", answer(true));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!exists(folder() / "mdl_1.drift") && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(exists(folder() / "mdl_1.drift"));
}

TEST_F(DriftBookTest, CountsNothingWithoutAProfileNorBeyondIt) {
  DriftBook book(folder());
  book.note("mdl_1", answer(false));   // its profile is not known
  EXPECT_FALSE(book.find("mdl_1"));
  book.learn("mdl_2", std::nullopt);
  book.note("mdl_2", {.rows = 3});
  EXPECT_EQ(book.find("mdl_2"), schema::DriftCounts());
  book.learn("mdl_1", profile());
  for (schema::AnswerReport wrong : {schema::AnswerReport{.rows = 1, .bins = {15}, .counts = {1}},
                                     schema::AnswerReport{.rows = 1, .bins = {-1}, .counts = {1}},
                                     schema::AnswerReport{.rows = 1, .bins = {1, 2}, .counts = {1}}})
    book.note("mdl_1", wrong);
  EXPECT_EQ(book.find("mdl_1")->rows, 0);
}

TEST_F(DriftBookTest, BeginsAgainAfterAReset) {
  DriftBook book(folder());
  book.reset("mdl_1");   // nothing was counted
  book.note("mdl_1", answer(true));
  book.reset("mdl_1");
  const schema::DriftCounts counts = book.find("mdl_1").value();
  EXPECT_EQ(counts.rows, 0);
  EXPECT_FALSE(counts.since.empty());
  EXPECT_EQ(counts.profile, profile());
  EXPECT_THAT(counts.counts, testing::Each(0));
}

TEST_F(DriftBookTest, ForgetsModelsThatAreGone) {
  {
    DriftBook book(folder());
    for (const char* model : {"mdl_1", "mdl_2", "mdl_3"}) book.note(model, answer(true));
    book.forget("mdl_1");
    EXPECT_FALSE(book.find("mdl_1"));
  }
  EXPECT_FALSE(exists(folder() / "mdl_1.drift"));
  DriftBook book(folder());
  book.sweep([](const std::string& model) { return model == "mdl_3"; });
  EXPECT_FALSE(exists(folder() / "mdl_2.drift"));
  EXPECT_FALSE(book.find("mdl_2"));
  EXPECT_TRUE(book.find("mdl_3"));
}

TEST_F(DriftBookTest, BeginsAgainWhereItsFileIsDamaged) {
  {
    DriftBook(folder()).note("mdl_1", answer(true));
  }
  std::ofstream(folder() / "mdl_1.drift") << R"({"since":"","rows":1,"counts":[1],"profile":{"rows":1,"columns":[]}})";
  EXPECT_FALSE(DriftBook(folder()).find("mdl_1"));
  std::ofstream(folder() / "mdl_1.drift") << "{\"sin";
  DriftBook book(folder());
  EXPECT_FALSE(book.find("mdl_1"));
  book.note("mdl_1", answer(true));
  EXPECT_EQ(book.find("mdl_1")->rows, 500);
}

TEST_F(DriftBookTest, ReadsAgainWhatItHasNoRoomFor) {
  constexpr int kModels = DriftBook::kMostInMemory + 20;
  DriftBook book(folder());
  for (int i = 0; i < kModels; ++i) book.note("mdl_" + std::to_string(i), answer(true));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (book.largest_index("mdl_0") && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(book.largest_index("mdl_0")) << "all stay in memory";
  book.note("mdl_0", answer(false));
  EXPECT_EQ(book.find("mdl_0")->rows, 1000);
}

}   // namespace
}   // namespace kedge::server
