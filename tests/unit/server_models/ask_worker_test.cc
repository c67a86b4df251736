// Questions to a worker: which wait, in which order they are answered, and what happens to those that are given up.
#include "server/models/ask_pool.h"

#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "schemas/quota.h"
#include "tests/support/jobs_service.h"

namespace kedge::server {
namespace {

using schema::ErrorCode;
using testing::ElementsAre;

// The fake worker answers a question with its body, once a gate is open; the first one so keeps the others waiting.
class AskWorkerTest : public testing::Test {
 protected:
  AskWorkerTest() { ::setenv("KEDGE_FAKE_ASK_GATE", gate().c_str(), 1); }
  ~AskWorkerTest() override {
    ::unsetenv("KEDGE_FAKE_ASK_GATE");
    handles_.clear();
  }
  std::filesystem::path gate() const { return dir_ / "gate"; }
  void open_gate() { std::ofstream(gate()) << '\n'; }

  // Without an output the gate does not count. Asker: AskWorker or AskPool.
  template <class Asker>
  void ask(Asker& worker, const std::string& tenant, const std::string& body, AskWorker::Place place = {},
           const std::string& output = "predict") {
    place.tenant = tenant;
    auto question = [body, output] {
      return schema::AskCommand{.modelPath = "a model", .output = output, .body = body};
    };
    auto note = [this](schema::AnswerReport report, std::exception_ptr error) {
      {
        const std::lock_guard lock(mutex_);
        told_.push_back(error ? "an error" : report.body);
      }
      waiter_.touch();
    };
    handles_.push_back(worker.ask(std::move(place), question, note));
  }
  // Waits until the worker has the first question, which is in no queue then.
  template <class Asker>
  void ask_first(Asker& worker, AskWorker::Place place = {}) {
    place.tenant = "first";
    std::atomic<bool> has_begun = false;
    auto question = [&has_begun] {
      has_begun = true;
      return schema::AskCommand{.modelPath = "a model", .output = "predict", .body = "first"};
    };
    auto note = [this](schema::AnswerReport report, std::exception_ptr) {
      {
        const std::lock_guard lock(mutex_);
        told_.push_back(report.body);
      }
      waiter_.touch();
    };
    handles_.push_back(worker.ask(std::move(place), question, note));
    ASSERT_TRUE(waiter_.until([&] { return has_begun.load(); }));
  }
  std::vector<std::string> told(std::size_t count) {
    waiter_.until([&] {
      const std::lock_guard lock(mutex_);
      return told_.size() >= count;
    });
    const std::lock_guard lock(mutex_);
    return told_;
  }
  static ErrorCode refusal(const std::function<void()>& call) {
    try {
      call();
    } catch (const schema::Error& error) {
      return error.code;
    }
    ADD_FAILURE() << "the question was taken";
    return ErrorCode::kInternal;
  }
  WorkerProgram program() const { return {.file = KEDGE_FAKE_WORKER, .temporary = dir_.path()}; }

  tests::TempDir dir_;
  tests::Waiter waiter_;
  std::mutex mutex_;
  std::vector<std::string> told_;
  std::vector<std::shared_ptr<void>> handles_;
};

TEST_F(AskWorkerTest, TakesTheTenantsAlternately) {
  AskWorker worker(program());
  ask_first(worker);
  for (const char* body : {"a1", "a2", "a3"}) ask(worker, "alice", body);
  for (const char* body : {"b1", "b2"}) ask(worker, "bob", body);
  open_gate();
  EXPECT_THAT(told(6), ElementsAre("first", "a1", "b1", "a2", "b2", "a3"));
  handles_.clear();
}

TEST_F(AskWorkerTest, BoundsWhatWaitsOfATenantAndOfAll) {
  AskWorker worker(program(), {.per_tenant = 2, .total = 3});
  ask_first(worker);
  ask(worker, "alice", "a1"), ask(worker, "alice", "a2");
  EXPECT_EQ(refusal([&] { ask(worker, "alice", "a3"); }), ErrorCode::kTooManyRequests);
  ask(worker, "bob", "b1");
  EXPECT_EQ(refusal([&] { ask(worker, "bob", "b2"); }), ErrorCode::kUnavailable);
  open_gate();
  EXPECT_EQ(told(4).size(), 4u);
  ask(worker, "alice", "a4");
  EXPECT_EQ(told(5).back(), "a4");
  handles_.clear();
}

TEST_F(AskWorkerTest, DropsAQuestionThatIsGivenUp) {
  AskWorker worker(program(), {.per_tenant = 2, .total = 2});
  ask_first(worker);
  ask(worker, "alice", "given up"), ask(worker, "bob", "b1");
  handles_.erase(handles_.begin() + 1);
  ask(worker, "alice", "a2");   // its place is free
  open_gate();
  EXPECT_THAT(told(3), ElementsAre("first", "b1", "a2"));
  handles_.clear();
}

// The fake worker answers in the order of what it gets, so the order says what was sent together.
TEST_F(AskWorkerTest, SendsNoMoreRowsOfAModelTogetherThanItsBound) {
  AskWorker worker(program());
  ask_first(worker);
  const AskWorker::Place bounded{.model = "a", .rows = 2, .max_rows = 4};
  for (const char* body : {"a1", "a2", "a3"}) ask(worker, "alice", body, bounded);
  ask(worker, "alice", "b1", {.model = "b"});
  open_gate();
  EXPECT_THAT(told(5), ElementsAre("first", "a1", "a2", "b1", "a3"));
  handles_.clear();
}

TEST_F(AskWorkerTest, SendsAQuestionOfMoreRowsThanTheBoundAlone) {
  AskWorker worker(program());
  ask_first(worker);
  const AskWorker::Place small{.model = "a", .max_rows = 4}, large{.model = "a", .rows = 9, .max_rows = 4};
  ask(worker, "alice", "large", large), ask(worker, "alice", "small", small);
  ask(worker, "alice", "b1", {.model = "b"});
  open_gate();
  EXPECT_THAT(told(4), ElementsAre("first", "large", "b1", "small"));
  handles_.clear();
}

TEST_F(AskWorkerTest, LetsAModelWaitForOthersWithoutDelayingAnother) {
  open_gate();
  AskWorker worker(program());
  const AskWorker::Place patient{.model = "a", .max_rows = 2, .delay = std::chrono::hours(1)};
  ask(worker, "alice", "a1", patient);
  ask(worker, "alice", "b1", {.model = "b"});
  EXPECT_THAT(told(1), ElementsAre("b1"));
  ask(worker, "bob", "a2", patient);   // so many rows as the model takes are there
  EXPECT_THAT(told(3), ElementsAre("b1", "a1", "a2"));
  handles_.clear();
}

TEST_F(AskWorkerTest, AsksWhenTheDelayIsOver) {
  open_gate();
  AskWorker worker(program());
  ask(worker, "alice", "a1", {.model = "a", .delay = std::chrono::milliseconds(20)});
  EXPECT_THAT(told(1), ElementsAre("a1"));
  handles_.clear();
}

// Kills the fake workers, which are this process's only children. False: there is none.
bool kill_workers() {
  bool is_any = false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child; is_any = true) ::kill(child, SIGKILL);
  }
  return is_any;
}

TEST_F(AskWorkerTest, AsksAnotherWorkerWhereOneIsKilledFromOutside) {
  AskWorker worker(program());
  ask_first(worker);                                                                   // alone
  while (!kill_workers()) std::this_thread::sleep_for(std::chrono::milliseconds(1));   // it is being started
  open_gate();
  EXPECT_THAT(told(1), ElementsAre("first"));
  handles_.clear();
}

TEST_F(AskWorkerTest, OfAPoolDoNotHoldUpTheModelsOfTheOthers) {
  AskPool pool(program(), {.workers = 2});
  ask(pool, "alice", "a1", {.model = "a"});   // the gate is closed
  ask(pool, "alice", "b1", {.model = "b"}, "");
  EXPECT_THAT(told(1), ElementsAre("b1"));
  ask(pool, "alice", "c1", {.model = "c"}, "");   // where the fewest are, the first: behind a
  ask(pool, "alice", "b2", {.model = "b"}, "");
  EXPECT_THAT(told(2), ElementsAre("b1", "b2"));
  open_gate();
  EXPECT_THAT(told(4), ElementsAre("b1", "b2", "a1", "c1"));
  handles_.clear();
}

TEST_F(AskWorkerTest, OfAPoolShareTheLimits) {
  AskPool pool(program(), {.per_tenant = 2, .total = 3, .workers = 2});
  for (const char* model : {"a", "b"}) ask_first(pool, {.model = model});
  ask(pool, "alice", "a1", {.model = "a"}), ask(pool, "alice", "b1", {.model = "b"});
  EXPECT_EQ(refusal([&] { ask(pool, "alice", "b2", {.model = "b"}); }), ErrorCode::kTooManyRequests);
  ask(pool, "bob", "b3", {.model = "b"});
  EXPECT_EQ(refusal([&] { ask(pool, "carol", "a2", {.model = "a"}); }), ErrorCode::kUnavailable);
  open_gate();
  EXPECT_EQ(told(5).size(), 5u);
  ask(pool, "carol", "a2", {.model = "a"});
  EXPECT_EQ(told(6).back(), "a2");
  handles_.clear();
}

}   // namespace
}   // namespace kedge::server
