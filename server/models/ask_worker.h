// A worker for questions to stored models: its own process on the CPU, so that an answer never waits behind a job.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "schemas/worker.h"
#include "server/jobs/worker_process.h"

namespace kedge::server {

// Thread safe; questions are answered one by one, in order. The process starts with the first question and is replaced when it dies.
class AskWorker {
 public:
  explicit AskWorker(WorkerProgram program) : program_(std::move(program)) {
    thread_ = std::jthread([this](std::stop_token stop) { loop(stop); });
  }
  // Blocks for the answer. Errors: those of the worker; kWorkerCrashed when it dies of the question; kDeadlineExceeded when it takes more than
  // a minute; kUnavailable when the process cannot be started or this object is going.
  schema::AnswerReport ask(schema::AskCommand command);

 private:
  struct Question {
    schema::AskCommand command;
    std::promise<schema::AnswerReport> answer;
  };
  void loop(std::stop_token stop);
  schema::AnswerReport answer(schema::AskCommand command);
  schema::WorkerReport receive(std::chrono::steady_clock::time_point until);
  void drain();   // reads heartbeats, so that the pipe never fills

  const WorkerProgram program_;
  std::int64_t last_token_ = 0;               // the thread's alone, as is the next
  std::unique_ptr<WorkerProcess> process_;
  std::mutex mutex_;                          // guards what follows
  std::condition_variable_any changed_;
  std::deque<Question> questions_;
  bool is_closed_ = false;
  std::jthread thread_;                       // last: it uses everything above; the process lives as long as it does
};

}  // namespace kedge::server
