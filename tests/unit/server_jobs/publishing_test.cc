// What becomes of a job between the end of its computation and its own end, without a worker.
#include "server/jobs/publishing.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/server_jobs/job_parts.h"

namespace kedge::server {
namespace {

using schema::JobState;

constexpr std::uint64_t kMostBytes = 10;   // of a tenant

struct PublishingTest : testing::Test {
  // A job that runs and may leave a model.
  JobPointer running_job() {
    const JobPointer job = parts.add("job_1", "alice");
    const TableLock held = parts.table.lock();
    job->lease = parts.table.next_lease(held), job->leaves_files = true;
    parts.table.change(held, job, {.state = JobState::kRunning, .new_lease = job->lease});
    return job;
  }
  static schema::DoneReport report_with(std::string model) {
    return {.result = {}, .model = schema::ModelInfo{}, .modelBytes = std::move(model)};
  }
  bool begin(const JobPointer& job, schema::DoneReport& report) {
    return parts.publishing.begin(parts.table.lock(), job, report);
  }
  void end(const JobPointer& job, schema::DoneReport report, Publishing::Files placed) {
    parts.publishing.end(parts.table.lock(), job, std::move(report), std::move(placed));
    parts.settle();
  }

  tests::TempDir dir;
  TenantBytes bytes{kMostBytes};
  tests::JobParts parts{dir.path(), {.acquire = tests::data_at_once}, &bytes};
};

TEST_F(PublishingTest, ListsAModelWithTheResult) {
  const JobPointer job = running_job();
  schema::DoneReport report = report_with("bytes");
  ASSERT_TRUE(begin(job, report));
  EXPECT_EQ(parts.state_of(job), JobState::kFinalizing);
  Publishing::Files placed = parts.publishing.place_files(*job, report);
  end(job, std::move(report), std::move(placed));
  const schema::Job stored = parts.store.find("job_1").value();
  EXPECT_EQ(stored.state, JobState::kSucceeded);
  EXPECT_EQ(stored.result->model, "mdl_1");
  EXPECT_TRUE(parts.store.find_model("mdl_1"));
  EXPECT_EQ(bytes.used("alice"), 5u);
}

TEST_F(PublishingTest, LeavesOutAModelForWhichTheTenantHasNoRoom) {
  const JobPointer job = running_job();
  schema::DoneReport report = report_with("more than ten bytes");
  ASSERT_TRUE(begin(job, report));
  Publishing::Files placed = parts.publishing.place_files(*job, report);
  end(job, std::move(report), std::move(placed));
  const schema::Job stored = parts.store.find("job_1").value();
  EXPECT_EQ(stored.state, JobState::kSucceeded);
  EXPECT_EQ(stored.result->model, "");
  EXPECT_EQ(stored.result->warnings.size(), 1u);
  EXPECT_EQ(bytes.used("alice"), 0u);
}

TEST_F(PublishingTest, RegistersTheModelUnderTheNameThatTheJobHas) {
  const JobPointer job = running_job();
  job->spec = tests::job_spec("Succeed");
  job->spec->registerAs = "iris";
  schema::DoneReport report = report_with("bytes");
  ASSERT_TRUE(begin(job, report));
  Publishing::Files placed = parts.publishing.place_files(*job, report);
  end(job, std::move(report), std::move(placed));
  EXPECT_EQ(parts.store.find("job_1")->result->registered, "iris/1");
}

TEST_F(PublishingTest, SaysThatAJobWithoutAModelRegistersNothing) {
  const JobPointer job = running_job();
  job->spec = tests::job_spec("Succeed");
  job->spec->registerAs = "iris";
  schema::DoneReport report = report_with("more than ten bytes");
  ASSERT_TRUE(begin(job, report));
  Publishing::Files placed = parts.publishing.place_files(*job, report);
  end(job, std::move(report), std::move(placed));
  const schema::Job stored = parts.store.find("job_1").value();
  EXPECT_EQ(stored.state, JobState::kSucceeded);
  EXPECT_EQ(stored.result->registered, "");
  EXPECT_EQ(stored.result->warnings.back(), "nothing was registered as 'iris': the job has stored no model");
}

TEST_F(PublishingTest, DoesNotBeginForAJobThatWasCancelled) {
  const JobPointer job = running_job();
  job->cancel_requested = true;
  schema::DoneReport report = report_with("bytes");
  EXPECT_FALSE(begin(job, report));
  EXPECT_EQ(parts.state_of(job), JobState::kCancelled);
}

TEST_F(PublishingTest, LeavesNothingOfAJobThatWasCancelledMeanwhile) {
  const JobPointer job = running_job();
  std::ofstream(parts.files.unfinished_model(job->id, job->lease)) << "bytes";
  schema::DoneReport report = report_with("");   // it is in the file
  ASSERT_TRUE(begin(job, report));
  Publishing::Files placed = parts.publishing.place_files(*job, report);
  ASSERT_TRUE(std::filesystem::exists(parts.files.model_path("mdl_1")));
  EXPECT_TRUE(parts.admission.cancel("job_1"));
  end(job, std::move(report), std::move(placed));
  EXPECT_EQ(parts.store.find("job_1")->state, JobState::kCancelled);
  EXPECT_FALSE(parts.store.find_model("mdl_1"));
  EXPECT_FALSE(std::filesystem::exists(parts.files.model_path("mdl_1")));
  EXPECT_EQ(bytes.used("alice"), 0u) << "its reservation has been given back";
}

TEST_F(PublishingTest, FailsAJobWhoseFilesCannotTakeTheirPlace) {
  const JobPointer job = running_job();
  schema::DoneReport report{.result = {}};
  report.result.artifacts = {{.name = "rows.csv"}};   // which is not there
  ASSERT_TRUE(begin(job, report));
  Publishing::Files placed = parts.publishing.place_files(*job, report);
  ASSERT_TRUE(placed.failure);
  end(job, std::move(report), std::move(placed));
  EXPECT_EQ(parts.store.find("job_1")->state, JobState::kFailed);
}

}   // namespace
}   // namespace kedge::server
