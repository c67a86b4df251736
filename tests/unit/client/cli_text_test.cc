// What the kedge command prints.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/job_progress.h"
#include "client/cli/live_area.h"
#include "client/cli/table.h"
#include "client/cli/text_table.h"
#include "client/cli/upload_progress.h"
#include "client/cli/warnings.h"

namespace kedge::cli {
namespace {

schema::Event event_at(double seconds, schema::EventBody body) {
  const auto ms = static_cast<int>(seconds * 1000 + 0.5);
  return {.id = 1, .time = fmt::format("2026-01-02T03:{:02}:{:02}.{:03}Z", ms / 60000, ms / 1000 % 60, ms % 1000), .body = std::move(body)};
}

std::string drawn(const JobProgress& progress, int columns, double now) {
  std::string text;
  for (const Line& line : progress.live(columns, now)) text += (text.empty() ? "" : "\n") + rendered(line, false);
  return text;
}

TEST(JobProgress, ShowsShareRateAndTimeLeft) {
  JobProgress progress;
  progress.take(event_at(0, schema::ProgressEvent{.phase = "download", .done = 0, .total = 100'000'000, .unit = "bytes"}), 0);
  progress.take(event_at(2, schema::ProgressEvent{.phase = "download", .done = 50'000'000, .total = 100'000'000, .unit = "bytes"}), 2);
  EXPECT_EQ(drawn(progress, 100, 2), "download  50.0 MB of 100.0 MB  50 %  [============            ]  25.0 MB/s  2 s left");
  EXPECT_EQ(drawn(progress, 100, 3), "download  50.0 MB of 100.0 MB  50 %  [============            ]  25.0 MB/s  1 s left");
}

TEST(UploadText, SaysRateAndTimeLeft) {
  EXPECT_EQ(upload_text(50'000'000, 100'000'000, 2), "50.0 MB of 100.0 MB, 25.0 MB/s, 2.00 s left");
  EXPECT_EQ(upload_text(50'000'000, 0, 2), "50.0 MB, 25.0 MB/s");   // stdin
  EXPECT_EQ(upload_text(100'000'000, 100'000'000, 4), "100.0 MB sent, 25.0 MB/s; the server reads it");
  EXPECT_EQ(upload_text(0, 100, 0), "0 B of 100 B, 0 B/s, waiting");
}

TEST(JobProgress, HasNoRateBeforeItCanBeKnown) {
  JobProgress progress;
  progress.take(event_at(0, schema::ProgressEvent{.phase = "trees", .done = 1, .total = 200, .unit = "trees", .fold = 0}), 0);
  EXPECT_EQ(drawn(progress, 80, 0), "trees fold 1  1 of 200  0 %  [                        ]");
}

TEST(JobProgress, CountsWhenTheTotalIsUnknown) {
  JobProgress progress;
  progress.take(event_at(0, schema::ProgressEvent{.phase = "download", .done = 2500, .total = 0, .unit = "bytes"}), 0);
  EXPECT_EQ(drawn(progress, 80, 0), "download  2.5 kB");
}

// A job that is watched late comes all at once: its rate is computed from the times of its events.
TEST(JobProgress, KnowsTheRateOfAJobThatIsWatchedLate) {
  JobProgress progress;
  progress.take(event_at(0, schema::StateEvent{.state = schema::JobState::kRunning}), 1000);
  progress.take(event_at(0, schema::ProgressEvent{.phase = "candidate", .done = 0, .total = 96, .unit = "fits"}), 1000);
  progress.take(event_at(24, schema::ProgressEvent{.phase = "candidate", .done = 48, .total = 96, .unit = "fits"}), 1000);
  EXPECT_THAT(drawn(progress, 100, 1000), ::testing::HasSubstr("2.0 fits/s  24 s left"));
}

TEST(JobProgress, ShowsTheWholeSearchAboveTheCurrentFit) {
  JobProgress progress;
  progress.take(event_at(0, schema::ProgressEvent{.phase = "candidate", .done = 0, .total = 96, .unit = "fits"}), 0);
  progress.take(event_at(10, schema::MetricEvent{.name = "best_accuracy", .value = 0.9653}), 10);
  progress.take(event_at(10, schema::ProgressEvent{.phase = "candidate", .done = 10, .total = 96, .unit = "fits"}), 10);
  progress.take(event_at(11, schema::ProgressEvent{.phase = "trees", .done = 1, .total = 200, .unit = "trees", .fold = 2}), 11);
  EXPECT_EQ(drawn(progress, 59, 11), "search  10 of 96 fits  10 %  1 min 25 s left  best 0.9653\n"
                                     "  fit 11, fold 3  trees  1 of 200  0 %  [                 ]");
}

TEST(JobProgress, NeverDrawsBeyondTheWidth) {
  JobProgress progress;
  progress.take(event_at(0, schema::ProgressEvent{.phase = "candidate", .done = 0, .total = 12'345'678, .unit = "fits"}), 0);
  progress.take(event_at(9, schema::MetricEvent{.name = "best_neg_root_mean_squared_error", .value = -48818.3676}), 9);
  progress.take(event_at(9, schema::ProgressEvent{.phase = "candidate", .done = 1'234'567, .total = 12'345'678, .unit = "fits"}), 9);
  progress.take(event_at(9, schema::ProgressEvent{.phase = "iterations", .done = 1, .total = 1'000'000'000, .unit = "iterations", .fold = 99}), 9);
  for (int columns = 10; columns <= 220; ++columns) {
    const std::vector<Line> lines = progress.live(columns, 9);
    ASSERT_EQ(lines.size(), 2U);
    for (const Line& line : lines) EXPECT_LE(display_width(line), columns) << rendered(line, false);
  }
}

TEST(JobProgress, SaysALineEverySomeSecondsWhereNothingCanBeDrawn) {
  JobProgress progress;
  progress.take(event_at(0, schema::StateEvent{.state = schema::JobState::kRunning}), 0);
  progress.take(event_at(0, schema::ProgressEvent{.phase = "candidate", .done = 0, .total = 96, .unit = "fits"}), 0);
  EXPECT_EQ(progress.plain(4.9), std::nullopt);
  progress.take(event_at(5, schema::ProgressEvent{.phase = "candidate", .done = 10, .total = 96, .unit = "fits"}), 5);
  progress.take(event_at(5, schema::ProgressEvent{.phase = "trees", .done = 1, .total = 200, .unit = "trees", .fold = 0}), 5);
  EXPECT_EQ(progress.plain(5), "search: 10 of 96 fits, 10 %, 2.0 fits/s, 43 s left; fit 11, fold 1, trees: 1 of 200, 0 %");
  EXPECT_EQ(progress.plain(9.9), std::nullopt);
  EXPECT_NE(progress.plain(10), std::nullopt);
  EXPECT_EQ(progress.plain(19), std::nullopt) << "nothing has changed: it is shown less often";
  EXPECT_NE(progress.plain(20), std::nullopt);
}

TEST(JobProgress, SaysThatAJobRunsThatReportsNothing) {
  JobProgress progress;
  progress.take(event_at(0, schema::StateEvent{.state = schema::JobState::kRunning}), 0);
  EXPECT_EQ(progress.plain(65), "running: 1 min 05 s");
  EXPECT_EQ(drawn(progress, 80, 65), "running  1 min 05 s");
}

TEST(JobProgress, EndsWithTheJob) {
  JobProgress progress;
  progress.take(event_at(0, schema::StateEvent{.state = schema::JobState::kSucceeded}), 0);
  EXPECT_EQ(drawn(progress, 80, 1), "");
  EXPECT_EQ(progress.plain(100), std::nullopt);
}

TEST(JobProgress, ShowsAWarningOnceHoweverManyCandidatesGiveIt) {
  JobProgress progress;
  std::size_t shown = 0;
  for (int i = 0; i < 15; ++i) {
    const std::string text = fmt::format("LogisticRegression: stopped after {} iterations", 100 + i);
    shown += progress.take(event_at(i, schema::LogEvent{"warning", text}), i).size();
  }
  EXPECT_EQ(shown, 1U);
}

TEST(Warnings, OfOneKindBecomeOneWithACount) {
  EXPECT_THAT(collapsed({"a", "b", "a"}), ::testing::ElementsAre("a (2 times)", "b"));
  EXPECT_THAT(collapsed({"gap of 1.5e-05 after 10", "gap of 2 after 11", "other"}), ::testing::ElementsAre("gap of 1.5e-05 after 10 (and 1 more like it)", "other"));
  EXPECT_THAT(collapsed({R"(candidate {"C":1} failed on fold 0: one class)", R"(candidate {"C":"x"} failed on fold 3: one class)"}),
              ::testing::ElementsAre(R"(candidate {"C":1} failed on fold 0: one class (and 1 more like it))"));
}

TEST(Text, CountsColumnsOfUnicode) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("温度"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("🚢"), 2);
  EXPECT_EQ(display_width("a\xff"), 2);
}

TEST(Text, IsCutAndBrokenByColumns) {
  EXPECT_EQ(cut("温度計", 5), "温度…");
  EXPECT_EQ(cut("温度計", 6), "温度計");
  EXPECT_EQ(cut("abcdef", 3), "ab…");
  EXPECT_THAT(wrapped("one two three", 12, 2), ::testing::ElementsAre("one two", "  three"));
  EXPECT_THAT(wrapped("温度計温度計", 8), ::testing::ElementsAre("温度計温", "度計"));
  EXPECT_THAT(wrapped("no bound at all", 0), ::testing::ElementsAre("no bound at all"));
}

// What a server sends must not move the cursor or recolour the screen.
TEST(Text, LosesControlCharacters) {
  EXPECT_EQ(printable("a\033[2Jb\rc\nd\x9b"), "a?[2Jb?c d?");
  JobProgress progress;
  const std::vector<Line> lines = progress.take(event_at(0, schema::LogEvent{"info", "\033]0;title\007"}), 0);
  EXPECT_EQ(rendered(lines.front(), false), "info: ?]0;title?");
}

TEST(LiveArea, GoesUpOverTheRowsIntoWhichANarrowerTerminalWrapsItsLines) {
  LiveArea area;
  const Page wide{.columns = 80, .is_live = true}, narrow{.columns = 40, .is_live = true};
  area.draw(wide, {line_of(std::string(70, 'a')), line_of("b")});
  EXPECT_EQ(area.draw(wide, {line_of("c")}), "\r\033[1A\033[Jc");
  area.draw(wide, {line_of(std::string(70, 'a')), line_of("b")});
  EXPECT_EQ(area.clear(narrow), "\r\033[2A\033[J");
  EXPECT_EQ(area.clear(narrow), "");
}

TEST(TextTable, NeverRunsColumnsTogether) {
  TextTable table({{.title = "score"}, {"mean", TextTable::Align::kRight}, {"std", TextTable::Align::kRight}});
  table.row({"neg_root_mean_squared_error", "-48818.3676", "-50824.2292"});
  EXPECT_EQ(table.text(), "score                               mean          std\n"
                          "neg_root_mean_squared_error  -48818.3676  -50824.2292\n");
}

TEST(TextTable, ComesInBlocksWhereThePageIsTooNarrow) {
  TextTable table({{.title = "id"}, {.title = "first column"}, {.title = "second column"}});
  table.row({"a", "1", "2"});
  EXPECT_EQ(table.text({.columns = 20}), "id  first column\na   1\n\nid  second column\na   2\n");
}

TEST(TextTable, CutsAndBreaksWhatMayGiveWay) {
  TextTable table({{.title = "id"}, {.title = "cut", .fit = TextTable::Fit::kCut}, {.title = "broken", .fit = TextTable::Fit::kWrap}});
  table.row({"a", "twenty characters...", "five words in two lines"});
  EXPECT_EQ(table.text({.columns = 32}), "id  cut            broken\n"
                                         "a   twenty chara…  five words in\n"
                                         "                   two lines\n");
}

TEST(ResultTable, ShowsFoldsMeanAndTimes) {
  schema::Result result;
  result.nSamples = 150, result.nFeatures = 4, result.dtype = "float64", result.device.kind = "cpu";
  result.scores.emplace_back("accuracy", schema::Score{{0.9, 1.0}, 0.95, 0.05});
  result.timings.folds.resize(2);
  result.timings.fit = 0.25, result.timings.total = 0.5;
  const std::string table = result_table(result);
  EXPECT_NE(table.find("150 rows x 4 features, float64, on cpu"), std::string::npos) << table;
  EXPECT_NE(table.find("score       mean     std  fold 1  fold 2\naccuracy  0.9500  0.0500  0.9000  1.0000"), std::string::npos) << table;
  EXPECT_NE(table.find("fit                   0.250 s  50.0 %"), std::string::npos) << table;
}

TEST(ResultTable, CountsTheGroupsOfAClustering) {
  const auto shown = [](std::vector<double> labels) {
    schema::Result result;
    result.fitted.emplace_back("DBSCAN", schema::ValueMap{{"labels_", schema::Value(std::move(labels))}});
    return result_table(result);
  };
  EXPECT_THAT(shown({0, 0, 1, 1, 1, -1, -1}),
              ::testing::HasSubstr("\nDBSCAN: 2 groups of 2 to 3 rows, 2 rows in none\n"));
  EXPECT_THAT(shown({0, 0, 0}), ::testing::HasSubstr("\nDBSCAN: 1 group of 3 rows\n"));
  EXPECT_THAT(shown({-1}), ::testing::HasSubstr("\nDBSCAN: 0 groups, 1 row in none\n"));
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
