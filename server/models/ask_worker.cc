// Sends questions to a worker and waits for its answers: see ask_worker.h.
#include "server/models/ask_worker.h"

#include <poll.h>

#include <algorithm>

#include "schemas/error.h"

namespace kedge::server {
namespace {

using Clock = std::chrono::steady_clock;
using schema::Error;
using schema::ErrorCode;

constexpr std::chrono::seconds kAnswerDeadline{60};
constexpr std::chrono::milliseconds kIdleRead{500};

bool is_readable(const engine::WorkerChannel& channel, std::chrono::milliseconds wait) {
  pollfd polled{.fd = channel.fd(), .events = POLLIN};
  return channel.has_message() || ::poll(&polled, 1, static_cast<int>(wait.count())) > 0;
}

}  // namespace

schema::AnswerReport AskWorker::ask(schema::AskCommand command) {
  std::future<schema::AnswerReport> answer;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) throw Error(ErrorCode::kUnavailable, "the server is stopping");
    questions_.push_back({std::move(command), {}});
    answer = questions_.back().answer.get_future();
    changed_.notify_one();
  }
  return answer.get();
}

void AskWorker::loop(std::stop_token stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, kIdleRead, [this] { return !questions_.empty(); });
    if (stop.stop_requested()) break;
    if (questions_.empty()) {
      lock.unlock();
      drain();
      continue;
    }
    Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    try {
      question.answer.set_value(answer(std::move(question.command)));
    } catch (...) {
      question.answer.set_exception(std::current_exception());
    }
  }
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  for (Question& question : questions_)
    question.answer.set_exception(std::make_exception_ptr(Error(ErrorCode::kUnavailable, "the server is stopping")));
  process_.reset();
}

schema::AnswerReport AskWorker::answer(schema::AskCommand command) {
  if (!process_) process_ = std::make_unique<WorkerProcess>(program_, "cpu");
  command.leaseToken = ++last_token_;
  const auto until = Clock::now() + kAnswerDeadline;
  if (!process_->channel().send(schema::WorkerCommand{std::move(command)})) {
    process_.reset();
    throw Error(ErrorCode::kWorkerCrashed, "the worker for predictions has ended; ask again");
  }
  while (true) {
    schema::WorkerReport report = receive(until);
    if (auto* answer = std::get_if<schema::AnswerReport>(&report.body); answer && answer->leaseToken == last_token_) return std::move(*answer);
    if (auto* failed = std::get_if<schema::FailedReport>(&report.body); failed && failed->leaseToken == last_token_) throw failed->error;
  }
}

schema::WorkerReport AskWorker::receive(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  if (left.count() <= 0 || !is_readable(process_->channel(), left)) {
    process_.reset();
    throw Error(ErrorCode::kDeadlineExceeded, "the model did not answer within a minute");
  }
  std::optional<schema::WorkerReport> report;
  try {
    report = process_->channel().receive<schema::WorkerReport>();
  } catch (const Error&) {   // stuck in the middle of a message, or not a message
  }
  if (report) return std::move(*report);
  const std::string how = process_->end();
  process_.reset();
  throw Error(ErrorCode::kWorkerCrashed, "the worker died of this question: " + how);
}

void AskWorker::drain() {
  while (process_ && is_readable(process_->channel(), std::chrono::milliseconds(0))) {
    try {
      if (!process_->channel().receive<schema::WorkerReport>()) process_.reset();
    } catch (const Error&) {
      process_.reset();
    }
  }
}

}  // namespace kedge::server
