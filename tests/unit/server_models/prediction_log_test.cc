// The log of what models were asked: its bound, what a crash leaves, what is dropped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>

#include "schemas/codec.h"
#include "server/models/prediction_log.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using testing::HasSubstr;
using testing::Not;

class PredictionLogTest : public testing::Test {
 protected:
  PredictionLog made() {
    return PredictionLog(dir_.path(), {}, [this](const std::string&) { ++dropped_; });
  }
  static LoggedCall call(const std::string& body, std::int64_t max_bytes = 1 << 20) {
    return {.model = "mdl_1",
            .output = "predict",
            .content_type = "application/json",
            .accept = "application/json",
            .body = body,
            .answer = R"({"values": [1]})",
            .rows = 1,
            .max_bytes = max_bytes};
  }
  std::uintmax_t bytes_on_disk() const {
    std::uintmax_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) sum += entry.file_size();
    return sum;
  }

  tests::TempDir dir_;
  std::atomic<int> dropped_ = 0;
};

TEST_F(PredictionLogTest, KeepsTheNewestWithinItsBytes) {
  PredictionLog log = made();
  constexpr std::int64_t kBytes = 4096;
  for (int i = 0; i < 200; ++i) log.add(call("[[" + std::to_string(1000 + i) + "]]", kBytes));
  const std::string lines = log.read("mdl_1");
  EXPECT_LE(bytes_on_disk(), static_cast<std::uintmax_t>(kBytes));
  EXPECT_GT(bytes_on_disk(), static_cast<std::uintmax_t>(kBytes / 4));
  EXPECT_THAT(lines, HasSubstr("1199"));
  EXPECT_THAT(lines, Not(HasSubstr("[[1000]]")));
  EXPECT_EQ(dropped_, 0);
}

TEST_F(PredictionLogTest, GoesOnAfterARestartWithoutHalfALine) {
  made().add(call("[[1]]"));
  std::ofstream(dir_ / "mdl_1.log", std::ios::app) << "{\"time\": \"20";   // a crash in the middle of a line
  EXPECT_EQ(std::ranges::count(made().read("mdl_1"), '\n'), 1);
  PredictionLog log = made();
  log.add(call("[[2]]"));
  const std::string lines = log.read("mdl_1");
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
  EXPECT_THAT(lines, Not(HasSubstr("{\"time\": \"20{")));
}

TEST_F(PredictionLogTest, DropsAndCountsWhatHasNoRoom) {
  PredictionLog log = made();
  log.add(call(std::string(4096, '1'), 4096));
  EXPECT_EQ(log.read("mdl_1"), "");
  log.add(call(std::string(PredictionLog::kMostWaiting, '1')));   // more than may wait
  EXPECT_EQ(dropped_, 2);
}

TEST_F(PredictionLogTest, ADiskThatTakesNothingCountsAndEndsNothing) {
  PredictionLog log(dir_ / "is not there", {}, [this](const std::string&) { ++dropped_; });
  log.add(call("[[1]]"));
  EXPECT_EQ(log.read("mdl_1"), "");
  EXPECT_EQ(dropped_, 1);
}

TEST_F(PredictionLogTest, RemovesTheFilesOfAModel) {
  PredictionLog log = made();
  log.add(call("[[1]]"));
  EXPECT_NE(log.read("mdl_1"), "");
  log.remove("mdl_1");
  EXPECT_EQ(log.read("mdl_1"), "");
  EXPECT_TRUE(is_empty(dir_.path()));
}

TEST_F(PredictionLogTest, SamplesAboutTheFraction) {
  PredictionLog log = made();
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) taken += log.samples(0.1) ? 1 : 0;
  EXPECT_NEAR(taken, 1000, 200);   // more than 6 standard deviations
  EXPECT_FALSE(log.samples(0));
  EXPECT_TRUE(log.samples(1));
}

TEST(LineOf, HoldsTheFormsOfTheBody) {
  LoggedCall call{.output = "predict",
                  .content_type = "text/csv",
                  .accept = "application/x-npy",
                  .body = "a\n1\n",
                  .answer = "abc"};
  EXPECT_THAT(line_of(call), HasSubstr("\"input\":\"a\\n1\\n\""));
  EXPECT_THAT(line_of(call), HasSubstr("\"answer\":\"YWJj\""));
  call.content_type = "application/json", call.body = "{not JSON", call.error = "body: no JSON";
  EXPECT_THAT(line_of(call), HasSubstr("\"input\":\"{not JSON\""));
  EXPECT_THAT(line_of(call), HasSubstr("\"error\":\"body: no JSON\""));
}

}   // namespace
}   // namespace kedge::server
