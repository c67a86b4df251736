// A real kedge-worker on a socketpair: hello, jobs, cancel, crashes on purpose and its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>

#include "engine/worker/channel.h"
#include "schemas/codec.h"
#include "tests/unit/engine/small_dataset.h"

namespace kedge::engine {
namespace {

using namespace kedge::schema;

// Starts the worker with the channel as descriptor 3 and, if given, a failpoint.
class WorkerUnderTest {
 public:
  explicit WorkerUnderTest(const std::string& device = "cpu", const std::string& failpoint = "", const std::string& memory_limit = "0") {
    std::array<int, 2> fds;
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) throw std::runtime_error("socketpair failed");
    channel_ = std::make_unique<WorkerChannel>(fds[0]);
    pid_ = ::fork();
    if (pid_ == 0) {   // only calls that are safe between fork and exec
      ::dup2(fds[1], 3);
      ::fcntl(3, F_SETFD, 0);
      if (!failpoint.empty()) ::setenv("KEDGE_FAILPOINT", failpoint.c_str(), 1);
      ::execl(KEDGE_WORKER_PROGRAM, KEDGE_WORKER_PROGRAM, "--device", device.c_str(), "--fd", "3", "--memory-limit",
              memory_limit.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(fds[1]);
  }
  ~WorkerUnderTest() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), wait();
  }
  WorkerChannel& channel() { return *channel_; }
  void hang_up() { channel_.reset(); }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }
  // The next report that is no heartbeat.
  std::optional<WorkerReport> next() {
    while (auto report = channel_->receive<WorkerReport>()) {
      if (!std::holds_alternative<HeartbeatReport>(report->body)) return report;
    }
    return std::nullopt;
  }
  // The report that ends a run.
  std::optional<WorkerReport> outcome() {
    while (auto report = next()) {
      if (!std::holds_alternative<EventReport>(report->body)) return report;
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<WorkerChannel> channel_;
  pid_t pid_ = -1;
};

class WorkerProcess : public testing::Test {
 protected:
  WorkerProcess()
      : path_(write_dataset(folder_.path(), {numeric("x"), numeric("y")}, {1, 0, 9, 1, 2, 0, 8, 1, 1, 0, 9, 1, 2, 0, 8, 1}, "y")) {}

  WorkerCommand run_command(std::int64_t lease, std::int64_t cv = 2) const {
    return {RunCommand{.jobId = "job-" + std::to_string(lease), .leaseToken = lease,
                       .spec = {.dataset = {BuiltinRef{"iris"}}, .pipeline = {{"GaussianNB", {}}}, .task = CrossValidate{.cv = cv}},
                       .dataPath = path_}};
  }
  // 30 columns and a target of ten values.
  std::filesystem::path wide_dataset(int rows) const {
    std::vector<double> values;
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < 30; ++j) values.push_back((i * 31 + j * 17 + i * j) % 101);
      values.push_back(i % 10);
    }
    std::vector<ColumnInfo> columns;
    for (int j = 0; j < 30; ++j) columns.push_back(numeric("x" + std::to_string(j)));
    columns.push_back(numeric("y"));
    return write_dataset(folder_.path(), columns, values, "y");
  }
  // Of a fit that never ends by itself in the time of a test.
  WorkerCommand endless_command(std::int64_t lease) const {
    WorkerCommand command = run_command(lease);
    auto& run = std::get<RunCommand>(command.body);
    run.dataPath = wide_dataset(20000);
    run.spec.pipeline = {{"LogisticRegression", {{"max_iter", 100000000}, {"tol", 1e-300}, {"C", 1e12}}}};
    return command;
  }
  TemporaryFolder folder_;
  std::filesystem::path path_;
};

TEST_F(WorkerProcess, SaysHelloThenRunsJobAfterJob) {
  WorkerUnderTest worker;
  const auto hello = worker.next();
  ASSERT_TRUE(hello && std::holds_alternative<HelloReport>(hello->body));
  EXPECT_EQ(std::get<HelloReport>(hello->body).device.id, "cpu");
  for (std::int64_t lease : {4, 5}) {
    worker.channel().send(run_command(lease));
    const auto outcome = worker.outcome();
    ASSERT_TRUE(outcome && std::holds_alternative<DoneReport>(outcome->body));
    const auto& done = std::get<DoneReport>(outcome->body);
    EXPECT_EQ(done.leaseToken, lease);
    EXPECT_EQ(done.result.scores[0].second.perFold, (std::vector<double>{1, 1}));
  }
}

TEST_F(WorkerProcess, SendsEventsWithTheLeaseOfTheJob) {
  WorkerUnderTest worker;
  worker.next();
  worker.channel().send(run_command(12));
  const auto event = worker.next();
  ASSERT_TRUE(event && std::holds_alternative<EventReport>(event->body));
  EXPECT_EQ(std::get<EventReport>(event->body).leaseToken, 12);
}

TEST_F(WorkerProcess, ReportsABadJobAndContinues) {
  WorkerUnderTest worker;
  worker.next();
  worker.channel().send(run_command(1, 99));
  const auto failed = worker.outcome();
  ASSERT_TRUE(failed && std::holds_alternative<FailedReport>(failed->body));
  EXPECT_EQ(std::get<FailedReport>(failed->body).error.where, "task.crossValidate.cv");
  worker.channel().send(run_command(2));
  const auto done = worker.outcome();
  EXPECT_TRUE(done && std::holds_alternative<DoneReport>(done->body));
}

TEST_F(WorkerProcess, ReportsAMissingDataFile) {
  WorkerUnderTest worker;
  worker.next();
  std::filesystem::remove(path_);
  worker.channel().send(run_command(1));
  const auto failed = worker.outcome();
  EXPECT_TRUE(failed && std::holds_alternative<FailedReport>(failed->body));
}

TEST_F(WorkerProcess, SeesThatADataFileWasReplaced) {
  WorkerUnderTest worker;
  worker.next();
  worker.channel().send(run_command(1));
  worker.outcome();
  std::filesystem::remove(path_);
  write_dataset(folder_.path(), {numeric("x"), numeric("y")}, {1, 0, 9, 1, 2, 0, 8, 1}, "y");
  worker.channel().send(run_command(2));
  const auto done = worker.outcome();
  ASSERT_TRUE(done && std::holds_alternative<DoneReport>(done->body));
  EXPECT_EQ(std::get<DoneReport>(done->body).result.nSamples, 4);
}

TEST_F(WorkerProcess, RunsJobsThatWaitInOrderThoughOthersAreCancelled) {
  WorkerUnderTest worker;
  worker.next();
  for (std::int64_t lease : {1, 2, 3}) {
    if (lease == 2) worker.channel().send(WorkerCommand{CancelCommand{"job-7"}});
    worker.channel().send(run_command(lease));
  }
  for (std::int64_t lease : {1, 2, 3}) {
    const auto done = worker.outcome();
    ASSERT_TRUE(done && std::holds_alternative<DoneReport>(done->body));
    EXPECT_EQ(std::get<DoneReport>(done->body).leaseToken, lease);
  }
}

TEST_F(WorkerProcess, CancelsTheRunningJobAndContinues) {
  WorkerUnderTest worker;
  worker.next();
  for (const std::int64_t lease : {1, 3}) {
    worker.channel().send(endless_command(lease));
    const auto begun = worker.next();   // the job has started to compute
    ASSERT_TRUE(begun && std::holds_alternative<EventReport>(begun->body));
    worker.channel().send(WorkerCommand{CancelCommand{"job-" + std::to_string(lease)}});
    const auto failed = worker.outcome();
    ASSERT_TRUE(failed && std::holds_alternative<FailedReport>(failed->body));
    EXPECT_EQ(std::get<FailedReport>(failed->body).error.code, ErrorCode::kCancelled);
    worker.channel().send(run_command(lease + 1));
    const auto done = worker.outcome();
    EXPECT_TRUE(done && std::holds_alternative<DoneReport>(done->body));
  }
}

TEST_F(WorkerProcess, CancelsAJobThatWaitsBehindTheRunningOne) {
  WorkerUnderTest worker;
  worker.next();
  for (const std::int64_t lease : {1, 2}) worker.channel().send(endless_command(lease));
  for (const char* job : {"job-2", "job-1"}) worker.channel().send(WorkerCommand{CancelCommand{job}});
  for (const std::int64_t lease : {1, 2}) {
    const auto failed = worker.outcome();
    ASSERT_TRUE(failed && std::holds_alternative<FailedReport>(failed->body));
    EXPECT_EQ(std::get<FailedReport>(failed->body).leaseToken, lease);
    EXPECT_EQ(std::get<FailedReport>(failed->body).error.code, ErrorCode::kCancelled);
  }
}

// OpenBLAS retries forever when it cannot have a buffer.
TEST_F(WorkerProcess, HasTheBuffersOfProductsForAnyBoundOfAJob) {
  if (KEDGE_SANITIZED) GTEST_SKIP() << "a sanitizer reserves more address space than the bound";
  WorkerUnderTest worker("cpu", "", std::to_string(96 << 20));
  worker.next();
  WorkerCommand command = run_command(1);
  auto& run = std::get<RunCommand>(command.body);
  run.dataPath = wide_dataset(2000);
  run.spec.pipeline = {{"KMeans", {{"n_clusters", 200}, {"max_iter", 3}, {"n_init", 1}}}};
  run.spec.task = Fit{};
  worker.channel().send(command);
  const auto done = worker.outcome();
  EXPECT_TRUE(done && std::holds_alternative<DoneReport>(done->body));
}

TEST_F(WorkerProcess, EndsAtACommandAndWhenTheServerEnds) {
  WorkerUnderTest told, alone;
  told.next(), alone.next();
  told.channel().send(WorkerCommand{ExitCommand{}});
  alone.hang_up();
  for (const int status : {told.wait(), alone.wait()}) EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(WorkerProcess, EndsInTheMiddleOfAJobAtACommandAndWhenTheServerEnds) {
  WorkerUnderTest told, alone;
  for (WorkerUnderTest* worker : {&told, &alone}) {
    worker->next();
    worker->channel().send(endless_command(1));
    worker->next();
  }
  told.channel().send(WorkerCommand{ExitCommand{}});
  alone.hang_up();
  for (const int status : {told.wait(), alone.wait()}) EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(WorkerProcess, SendsHeartbeats) {
  WorkerUnderTest worker;
  bool beat = false;
  while (!beat) {
    const auto report = worker.channel().receive<WorkerReport>();
    ASSERT_TRUE(report.has_value());
    beat = std::holds_alternative<HeartbeatReport>(report->body);
  }
}

TEST_F(WorkerProcess, SaysWhyADeviceCannotBeOpened) {
  WorkerUnderTest worker("cuda:999");
  const auto failed = worker.next();
  ASSERT_TRUE(failed && std::holds_alternative<FailedReport>(failed->body));
  EXPECT_EQ(std::get<FailedReport>(failed->body).error.code, ErrorCode::kDeviceUnavailable);
  EXPECT_TRUE(WIFEXITED(worker.wait()));
}

TEST_F(WorkerProcess, DiesAtItsFailpoint) {
  WorkerUnderTest worker("cpu", "worker.run.abort");
  worker.next();
  worker.channel().send(run_command(1));
  EXPECT_EQ(worker.outcome(), std::nullopt);
  const int status = worker.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST_F(WorkerProcess, DiesOnceAtAFailpointWithAFile) {
  const std::string failpoint = "worker.run.abort_once:" + (folder_.path() / "marker").string();
  WorkerUnderTest first("cpu", failpoint), second("cpu", failpoint);
  first.next(), second.next();
  first.channel().send(run_command(1));
  EXPECT_EQ(first.outcome(), std::nullopt);
  second.channel().send(run_command(1));
  const auto done = second.outcome();
  EXPECT_TRUE(done && std::holds_alternative<DoneReport>(done->body));
}

}  // namespace
}  // namespace kedge::engine
