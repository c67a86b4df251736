// The story of a job that kedge explain shows.
#include "client/cli/explain_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/job_table.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

using schema::Event;
using schema::JobState;
using ::testing::HasSubstr;
using ::testing::Not;

schema::Job job(JobState state) {
  return {.id = "job_1",
          .state = state,
          .spec = {.dataset = {schema::BuiltinRef{"iris"}}, .pipeline = {{"StandardScaler", {}}, {"PowerTransformer", {}}}, .task = schema::Fit{}},
          .attempts = 2,
          .created = "2026-01-02T03:04:05.000Z",
          .started = "2026-01-02T03:04:05.500Z",
          .ended = schema::is_final(state) ? "2026-01-02T03:04:09.000Z" : ""};
}

schema::Job failed() {
  schema::Job ended = job(JobState::kFailed);
  ended.error.emplace(schema::ErrorCode::kBadData, "PowerTransformer: column 'a' has -1", "pipeline[1]");
  ended.reason = "BAD_DATA";
  return ended;
}

Event at(const char* seconds, schema::EventBody body) {
  return {.id = 1, .time = std::string("2026-01-02T03:04:") + seconds + "Z", .body = std::move(body)};
}

std::vector<Event> events() {
  const schema::Error lost(schema::ErrorCode::kWorkerCrashed, "the worker on cpu died while it ran this job: signal 9 (Killed); it runs again");
  return {at("05.000", schema::StateEvent{.state = JobState::kQueued}),
          at("05.500", schema::StateEvent{.state = JobState::kRunning, .device = "cpu"}),
          at("05.600", schema::TimingEvent{.phase = "load", .seconds = 0.25}),
          at("06.000", schema::StateEvent{.state = JobState::kQueued, .reason = "WORKER_CRASHED", .error = lost}),
          at("06.500", schema::StateEvent{.state = JobState::kRunning, .device = "cuda:1"}),
          at("06.600", schema::TimingEvent{.phase = "load", .seconds = 0.5}),
          at("07.000", schema::LogEvent{.level = "warning", .message = "it did not converge"}),
          at("09.000", schema::StateEvent{.state = JobState::kFailed, .reason = "BAD_DATA", .error = failed().error})};
}

TEST(Story, HasEachAttemptAndWhyTheJobFailed) {
  const std::string story = story_of(failed(), events(), {}, 0);
  EXPECT_THAT(story, HasSubstr("job_1: failed after 3.50 s\niris: StandardScaler | PowerTransformer\n"));
  EXPECT_THAT(story, HasSubstr("PowerTransformer: column 'a' has -1 [BAD_DATA at pipeline[1]]"));
  EXPECT_THAT(story, HasSubstr("0.500 s  attempt 1 on cpu\n"));
  EXPECT_THAT(story, HasSubstr("1.000 s  lost: the worker on cpu died while it ran this job: signal 9 (Killed); it runs again [WORKER_CRASHED]\n"));
  EXPECT_THAT(story, HasSubstr("1.500 s  attempt 2 on cuda:1\n"));
  EXPECT_THAT(story, HasSubstr("load     0.750\n"));
  EXPECT_THAT(story, HasSubstr("warning: it did not converge"));
}

TEST(Story, HasWhatIsKnownOfAJobThatRuns) {
  const std::vector<Event> so_far{events()[0], events()[1]};
  EXPECT_THAT(story_of(job(JobState::kRunning), so_far, {}, 1767323055.5), HasSubstr("job_1: running for 10.0 s\n"));
}

TEST(Story, SaysThatACancelCameBeforeTheBegin) {
  schema::Job cancelled = job(JobState::kCancelled);
  cancelled.started.clear();
  EXPECT_THAT(story_of(cancelled, {}, {}, 0), HasSubstr("cancelled before it began"));
}

TEST(Story, ShowsNoControlCharactersOfOthers) {
  schema::Job hostile = failed();
  hostile.error->message = "\x1b[2Jgone\n";
  EXPECT_THAT(story_of(hostile, {}, {}, 0), Not(HasSubstr("\x1b")));
}

TEST(Story, IsOneDocumentWithItsAttempts) {
  const std::string json = story_json(failed(), events());
  EXPECT_THAT(json, HasSubstr(R"("device":"cpu","started":"2026-01-02T03:04:05.500Z","ended":"2026-01-02T03:04:06.000Z","end":"queued")"));
  EXPECT_THAT(json, HasSubstr(R"("device":"cuda:1")"));
  EXPECT_THAT(json, HasSubstr(R"("seconds":{"load":0.75})"));
  EXPECT_NO_THROW(schema::value_from_json(json));
}

TEST(JobsTable, SaysWhyAJobFailed) {
  const std::string table = jobs_table({failed()}, {}, 0);
  EXPECT_THAT(table, HasSubstr("PowerTransformer: PowerTransformer: column 'a' has -1"));
  EXPECT_THAT(table, HasSubstr("BAD_DATA"));
  const std::string narrow = jobs_table({failed()}, {.columns = 80}, 0);
  for (std::size_t i = 0, end = 0; i < narrow.size(); i = end + 1) {
    end = narrow.find('\n', i);
    EXPECT_LE(end - i, 82U) << narrow;   // "…" has three bytes
  }
}

}  // namespace
}  // namespace kedge::cli
