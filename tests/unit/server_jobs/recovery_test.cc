// What a restart finds: after an orderly end, and after kill -9.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "server/jobs/job_service.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::Job;
using schema::JobState;
using tests::job_spec;

std::unique_ptr<JobService> start(const tests::TempDir& dir) {
  return std::make_unique<JobService>(tests::service_options(dir.path(), KEDGE_FAKE_WORKER));
}

TEST(Recovery, RunsQueuedAndInterruptedJobsAfterAnOrderlyEnd) {
  const tests::TempDir dir;
  auto service = start(dir);
  const std::string done = tests::submit(*service, job_spec("Succeed")).id;
  const Job before = tests::wait_for_end(*service, done);
  const std::string running = tests::submit(*service, job_spec("Hold", dir / "go")).id;
  ASSERT_TRUE(tests::wait_for_state(*service, running, JobState::kRunning));
  std::vector<std::string> queued;
  for (int i = 0; i < 10; ++i) queued.push_back(tests::submit(*service, job_spec("Succeed")).id);
  service.reset();

  std::ofstream(dir / "go") << "go";
  service = start(dir);
  EXPECT_EQ(service->find(done), before);
  const Job job = tests::wait_for_end(*service, running);
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.attempts, 2);
  EXPECT_EQ(tests::story(*service, running),
            "queued fetching running queued fetching running progress metric timing finalizing result succeeded");
  for (const std::string& id : queued) EXPECT_EQ(tests::wait_for_end(*service, id).state, JobState::kSucceeded);
  const std::string next = tests::submit(*service, job_spec("Succeed")).id;
  EXPECT_GT(next, queued.back());
}

TEST(Recovery, KeepsARunningJobsCancelAcrossARestart) {
  const tests::TempDir dir;
  auto service = start(dir);
  const std::string id = tests::submit(*service, job_spec("IgnoreCancel")).id;
  ASSERT_TRUE(tests::wait_for_state(*service, id, JobState::kRunning));
  service->cancel(id);
  service.reset();
  service = start(dir);
  EXPECT_EQ(service->find(id)->state, JobState::kCancelled);
}

// A process that hosts a service and submits to it until it is killed.
class Host {
 public:
  explicit Host(const std::filesystem::path& data_dir) {
    std::array<int, 2> fds{};
    if (::pipe(fds.data()) != 0) throw std::runtime_error("pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    std::string program = KEDGE_JOBS_HOST, dir = data_dir, worker = KEDGE_FAKE_WORKER;
    std::array<char*, 4> argv{program.data(), dir.data(), worker.data(), nullptr};
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ) != 0)
      throw std::runtime_error("spawn");
    posix_spawn_file_actions_destroy(&actions);
    ::close(fds[1]);
    out_ = ::fdopen(fds[0], "r");
  }
  ~Host() {
    kill();
    std::fclose(out_);
  }
  Host(const Host&) = delete;

  pid_t pid() const { return pid_; }
  std::string next_id() {   // empty at the end
    std::array<char, 64> line{};
    if (!std::fgets(line.data(), line.size(), out_)) return {};
    const std::string text(line.data());
    return text.ends_with('\n') ? text.substr(0, text.size() - 1) : std::string();
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  std::FILE* out_ = nullptr;
};

TEST(Recovery, WorkersDieWithTheServer) {
  const tests::TempDir dir;
  Host host(dir.path());
  tests::Waiter waiter;
  ASSERT_FALSE(host.next_id().empty());
  ASSERT_TRUE(waiter.until([&] { return !tests::children(host.pid()).empty(); }));
  const std::vector<pid_t> workers = tests::children(host.pid());
  host.kill();
  for (const pid_t worker : workers) EXPECT_TRUE(waiter.until([&] { return !tests::is_alive(worker); }));
}

TEST(Recovery, LosesNothingThatWasAcknowledgedWhenKilled) {
  constexpr int kKills = 8;
  const tests::TempDir dir;
  std::mt19937 dice(1);   // a fixed seed: the moments differ, the test does not
  std::set<std::string> acknowledged;
  for (int round = 0; round < kKills; ++round) {
    Host host(dir.path());
    const int until = 1 + static_cast<int>(dice() % 60);
    for (int i = 0; i < until; ++i) {
      const std::string id = host.next_id();
      ASSERT_FALSE(id.empty()) << "the host ended in round " << round;
      EXPECT_TRUE(acknowledged.insert(id).second);
    }
    host.kill();
    for (std::string id = host.next_id(); !id.empty(); id = host.next_id()) acknowledged.insert(id);
  }

  const auto service = start(dir);
  for (const std::string& id : acknowledged) {
    ASSERT_TRUE(service->find(id)) << id << " was acknowledged and is lost";
    const Job job = tests::wait_for_end(*service, id);
    EXPECT_EQ(job.state, JobState::kSucceeded) << id;
    ASSERT_TRUE(job.result);
    EXPECT_EQ(job.result->classes, std::vector<std::string>{id});
    int results = 0, ends = 0;
    std::int64_t seq = 0;
    for (const schema::Event& event : service->events(id, 0, 1000)) {
      EXPECT_EQ(event.id, ++seq) << id << " has a gap in its events";
      results += std::holds_alternative<schema::ResultEvent>(event.body);
      const auto* state = std::get_if<schema::StateEvent>(&event.body);
      ends += state && schema::is_final(state->state);
    }
    EXPECT_EQ(results, 1);
    EXPECT_EQ(ends, 1);
  }
}

}  // namespace
}  // namespace kedge::server
