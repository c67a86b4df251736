// What the kedge command prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/progress.h"
#include "client/cli/table.h"

namespace kedge::cli {
namespace {

TEST(ProgressText, ShowsShareRateAndTimeLeft) {
  const schema::ProgressEvent half{.phase = "download", .done = 50'000'000, .total = 100'000'000, .unit = "bytes"};
  EXPECT_EQ(progress_text(half, 2.0, 0),
            "download  50 % [============            ] 50.0 MB of 100.0 MB  25.0 MB/s  2 s left");
}

TEST(ProgressText, HasNoRateBeforeItCanBeKnown) {
  const schema::ProgressEvent start{.phase = "trees", .done = 0, .total = 200, .unit = "trees", .fold = 0};
  EXPECT_EQ(progress_text(start, 0.0, 0), "trees fold 1   0 % [                        ] 0 trees of 200 trees");
}

TEST(ProgressText, CountsWhenTheTotalIsUnknown) {
  EXPECT_EQ(progress_text({.phase = "download", .done = 2500, .total = 0, .unit = "bytes"}, 0.0, 0), "download 2.5 kB");
}

TEST(ResultTable, ShowsFoldsMeanAndTimes) {
  schema::Result result;
  result.nSamples = 150, result.nFeatures = 4, result.dtype = "float64", result.device.kind = "cpu";
  result.scores.emplace_back("accuracy", schema::Score{{0.9, 1.0}, 0.95, 0.05});
  result.timings.folds.resize(2);
  result.timings.fit = 0.25, result.timings.total = 0.5;
  const std::string table = result_table(result);
  EXPECT_NE(table.find("150 rows x 4 features, float64, on cpu"), std::string::npos) << table;
  EXPECT_NE(table.find("accuracy                     0.9000   1.0000    0.9500    0.0500"), std::string::npos) << table;
  EXPECT_NE(table.find("fit                   0.250 s  50.0 %"), std::string::npos) << table;
}

TEST(ResultTable, SaysInOneLineWhatMemoryAMachineNeedsForTheJob) {
  schema::Result result;
  EXPECT_EQ(result_table(result).find("memory"), std::string::npos);
  result.memory = schema::MemoryReport{.neededBytes = 100 << 20, .predictedBytes = 150 << 20};
  EXPECT_THAT(result_table(result), ::testing::HasSubstr("\nmemory: 150 MiB predicted, 100 MiB needed at least\n"));
  result.memory->peakBytes = 120 << 20;
  EXPECT_THAT(result_table(result),
              ::testing::HasSubstr("\nmemory: 120 MiB at the peak, 150 MiB predicted, 100 MiB needed at least\n"));
}

}  // namespace
}  // namespace kedge::cli
