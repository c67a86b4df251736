// A worker for questions to stored models: its own process on the CPU, so that an answer never waits behind a job.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "schemas/worker.h"
#include "server/jobs/worker_process.h"

namespace kedge::server {

struct AskLimits {
  std::size_t per_tenant = 64, total = 256;   // questions that wait for their turn
};

// Thread safe; no call waits for an answer. Questions are answered one by one, the tenants alternately and each
// tenant's in order, by a thread of this object, which owns the process. The process starts with the first question and
// is replaced when it dies.
class AskWorker {
 public:
  // An answer, or what went wrong: errors of the worker; kWorkerCrashed when it dies of the question; kDeadlineExceeded
  // when it takes more than a minute; kUnavailable when the process cannot be started or this object is being
  // destroyed.
  using Answered = std::function<void(schema::AnswerReport, std::exception_ptr)>;

  explicit AskWorker(WorkerProgram program, AskLimits limits = {}) : program_(std::move(program)), limits_(limits) {
    thread_ = std::jthread([this](std::stop_token stop) { loop(stop); });
  }
  // `question` is called when its turn comes, `answered` once with its answer or with what either threw; both on this
  // object's thread. A question whose handle is destroyed before its turn is dropped, without an answer. The handle
  // must not outlive this object. Errors: kTooManyRequests when so many of the tenant's wait already, kUnavailable when
  // so many of all do.
  std::shared_ptr<void> ask(const std::string& tenant, std::function<schema::AskCommand()> question, Answered answered);

 private:
  struct Question {
    std::string tenant;
    std::function<schema::AskCommand()> command;
    Answered answered;
  };
  using QuestionPointer = std::shared_ptr<Question>;   // shared by the queue, its handle and the thread that answers it

  void loop(std::stop_token stop);
  QuestionPointer next();                               // under the lock, of a queue that is not empty
  void forget(const QuestionPointer& question);
  void settle(Question& question);
  schema::AnswerReport answer(schema::AskCommand command);
  schema::WorkerReport receive(std::chrono::steady_clock::time_point until);
  void drain();   // reads heartbeats, so that the pipe never fills

  const WorkerProgram program_;
  const AskLimits limits_;
  std::int64_t last_token_ = 0;               // the thread's alone, as is the next
  std::unique_ptr<WorkerProcess> process_;
  std::mutex mutex_;                          // guards what follows
  std::condition_variable_any changed_;
  std::map<std::string, std::deque<QuestionPointer>> waiting_;   // by tenant; none is empty
  std::deque<std::string> turns_;                                // the tenants that wait, the next one first
  std::size_t n_waiting_ = 0;
  bool is_closed_ = false;
  std::jthread thread_;                       // last: it uses everything above; the process lives as long as it does
};

}  // namespace kedge::server
