// Jobs on the device "cluster" with real ranks: the results of one worker, and what happens when a rank is lost.
// KEDGE_CLUSTER_JOBS: how many jobs lose one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "crypto/digest.h"
#include "schemas/codec.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using schema::JobSpec;
using schema::JobState;
using testing::HasSubstr;
using tests::Waiter;

constexpr std::chrono::seconds kLong{120};

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  try {
    return {std::istreambuf_iterator<char>(in), {}};
  } catch (const std::ios_base::failure&) {   // a process that has ended meanwhile
    return {};
  }
}

// Process ids of the ranks whose socket lies below this folder, without those that have ended and are not reaped.
std::vector<pid_t> ranks_below(const fs::path& folder) {
  std::vector<pid_t> found;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = text_of(entry.path() / "cmdline");
    const auto has = [&](const std::string& word) { return line.find(word) != std::string::npos; };
    const bool is_rank = line.starts_with(KEDGE_WORKER_PROGRAM) && has("--channel") && has(folder.string());
    if (is_rank && text_of(entry.path() / "stat").find(") Z ") == std::string::npos)
      found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  std::ranges::sort(found);
  return found;
}

JobSpec spec_from(const std::string& json) {
  return schema::from_json<JobSpec>(json);
}

const char* const kValidation =
    R"({"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "RandomForestClassifier",
  "params": {"n_estimators": 60, "random_state": 42}}], "task": {"crossValidate": {"cv": 5, "scoring": ["accuracy", "f1_macro"]}}})";
const char* const kForest = R"({"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "StandardScaler"},
  {"estimator": "RandomForestClassifier", "params": {"n_estimators": 30, "random_state": 42}}], "task": {"fit": {}}})";
const char* const kSearch =
    R"({"dataset": {"builtin": "digits"}, "pipeline": [{"estimator": "PCA"}, {"estimator": "KNeighborsClassifier"}],
  "task": {"gridSearch": {"paramGrid": {"pca__n_components": [5, 10], "kneighborsclassifier__n_neighbors": [1, 3, 5]}}}})";

// A service with this many ranks, whose sockets lie in a folder of its own.
class Cluster {
 public:
  explicit Cluster(int ranks) {
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
    JobServiceOptions options;
    options.data_dir = folder_ / "data";
    options.worker_program = KEDGE_WORKER_PROGRAM;
    options.devices = {"cpu"};
    options.cluster = {.ranks = ranks};
    service_ = std::make_unique<JobService>(std::move(options));
  }
  ~Cluster() { ::unsetenv("TMPDIR"); }

  JobService& service() { return *service_; }
  void stop() { service_.reset(); }
  std::vector<pid_t> ranks() const { return ranks_below(folder_.path()); }

  std::string submit(JobSpec spec, const std::string& device) {
    spec.device = device;
    return tests::submit(*service_, std::move(spec)).id;
  }
  JobState state(const std::string& id) const { return service_->find(id)->state; }
  schema::Job ended(const std::string& id) {
    if (!Waiter().until([&] { return schema::is_final(state(id)); }, kLong))
      throw std::runtime_error("a job does not end");
    return *service_->find(id);
  }
  schema::Job run(const std::string& spec, const std::string& device) { return ended(submit(spec_from(spec), device)); }

  // What does not depend on the clock, with the digest of the model's file.
  std::string lasting(const schema::Job& job) const {
    if (!job.result) return job.error ? job.error->message : "no result";
    schema::Result result = *job.result;
    const std::string model =
        result.model.empty() ? "" : crypto::sha256_hex(text_of(service_->model_file(result.model)));
    result.timings = {}, result.memory = {}, result.model = {};
    if (result.search) {
      result.search->refit = 0;
      std::erase_if(result.search->cvResults,
                    [](const auto& column) { return column.first.find("_time") != std::string::npos; });
    }
    result.device.threads = 0;   // ranks divide the cores
    return schema::to_json(result) + " model " + model;
  }

 private:
  tests::TempDir folder_;
  std::unique_ptr<JobService> service_;
};

class ClusterJobs : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(fs::path(KEDGE_WORKER_PROGRAM).parent_path() / "libkedge_mpi.so"))
      GTEST_SKIP() << "this build was made without MPI";
    if (!fs::exists("/usr/bin/mpirun")) GTEST_SKIP() << "there is no mpirun";
  }
};

TEST_F(ClusterJobs, GiveTheResultAndTheModelOfOneWorkerAtAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 4}) {
    Cluster cluster(ranks);
    for (const char* spec : {kValidation, kForest, kSearch}) {
      const std::string alone = cluster.lasting(cluster.run(spec, "cpu"));
      EXPECT_THAT(alone, HasSubstr("model"));
      EXPECT_EQ(cluster.lasting(cluster.run(spec, "cluster")), alone) << ranks << " ranks";
    }
  }
}

TEST_F(ClusterJobs, AreListedWithRanksAndLauncher) {
  Cluster cluster(2);
  ASSERT_EQ(cluster.run(kSearch, "cluster").state, JobState::kSucceeded);
  const std::vector<schema::DeviceEntry> devices = cluster.service().devices();
  const auto found = std::ranges::find(devices, "cluster", &schema::DeviceEntry::id);
  ASSERT_NE(found, devices.end());
  EXPECT_THAT(found->name, HasSubstr("2 ranks"));
  EXPECT_EQ(found->missing, "");
}

TEST_F(ClusterJobs, SayThatTheyRunOnOneRank) {
  Cluster cluster(2);
  const schema::Job job = cluster.run(
      R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "KNeighborsClassifier"}], "task": {"fit": {}}})",
      "cluster");
  ASSERT_TRUE(job.result);
  EXPECT_THAT(job.result->warnings, testing::Contains(HasSubstr("runs on one of 2 ranks")));
}

TEST_F(ClusterJobs, FailWithTheWordsOfOneWorker) {
  Cluster cluster(3);
  const char* const bad = R"({"dataset": {"builtin": "iris"}, "pipeline": [{"estimator": "KNeighborsClassifier"}],
    "task": {"gridSearch": {"paramGrid": {"n_neighbors": [1, 2, 500]}, "errorScore": "raise"}}})";
  EXPECT_EQ(cluster.lasting(cluster.run(bad, "cluster")), cluster.lasting(cluster.run(bad, "cpu")));
}

TEST_F(ClusterJobs, AreCancelledOnAllRanks) {
  Cluster cluster(2);
  JobSpec slow = spec_from(kValidation);
  slow.pipeline[0].params = {{"n_estimators", schema::Value(std::int64_t{20'000})}};
  const std::string id = cluster.submit(slow, "cluster");
  ASSERT_TRUE(Waiter().until([&] { return cluster.state(id) == JobState::kRunning; }, kLong));
  cluster.service().cancel(id);
  EXPECT_EQ(cluster.ended(id).state, JobState::kCancelled);
  EXPECT_EQ(cluster.run(kSearch, "cluster").state, JobState::kSucceeded);
}

// A rank is killed at a random time, which is what is tried; so this test sleeps.
TEST_F(ClusterJobs, EndRightAndOnceWhenARankIsKilled) {
  const char* const wanted = std::getenv("KEDGE_CLUSTER_JOBS");
  const int n_jobs = wanted ? std::stoi(wanted) : 3;
  std::mt19937 random(35);
  Cluster cluster(3);
  const std::string right = cluster.lasting(cluster.run(kValidation, "cpu"));
  for (int number = 0; number < n_jobs; ++number) {
    const std::string id = cluster.submit(spec_from(kValidation), "cluster");
    ASSERT_TRUE(Waiter().until([&] { return cluster.state(id) == JobState::kRunning; }, kLong));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 400));
    const std::vector<pid_t> ranks = cluster.ranks();
    if (!ranks.empty()) ::kill(ranks[random() % ranks.size()], SIGKILL);
    const schema::Job job = cluster.ended(id);
    EXPECT_EQ(job.state, JobState::kSucceeded) << (job.error ? job.error->message : "");
    EXPECT_EQ(cluster.lasting(job), right);
    const std::string story = tests::story(cluster.service(), id);
    EXPECT_EQ(story.find("succeeded"), story.rfind("succeeded")) << story;
  }
  cluster.stop();
  EXPECT_TRUE(Waiter().until([&] { return cluster.ranks().empty(); }));
}

TEST_F(ClusterJobs, EndWhenARankIsSilent) {
  Cluster cluster(2);
  ASSERT_EQ(cluster.run(kSearch, "cluster").state, JobState::kSucceeded);
  const std::vector<pid_t> before = cluster.ranks();
  ASSERT_EQ(before.size(), 2u);
  ::kill(before.back(), SIGSTOP);
  EXPECT_TRUE(Waiter().until(
      [&] {
        const std::vector<pid_t> now = cluster.ranks();
        return std::ranges::none_of(before, [&](pid_t rank) { return std::ranges::find(now, rank) != now.end(); });
      },
      kLong));
  EXPECT_EQ(cluster.run(kSearch, "cluster").state, JobState::kSucceeded);
}

}   // namespace
}   // namespace kedge::server
