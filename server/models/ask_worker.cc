// Queues questions, sends them to a worker and hands on its answers: see ask_worker.h.
#include "server/models/ask_worker.h"

#include <poll.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "schemas/error.h"
#include "schemas/quota.h"

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

std::shared_ptr<void> AskWorker::ask(const std::string& tenant, std::function<schema::AskCommand()> question, Answered answered) {
  const auto added = std::make_shared<Question>(Question{tenant, std::move(question), std::move(answered)});
  std::shared_ptr<void> handle(nullptr, [this, added](void*) { forget(added); });
  const std::lock_guard lock(mutex_);
  if (is_closed_) throw Error(ErrorCode::kUnavailable, "the server is stopping");
  const auto mine = waiting_.find(tenant);
  if (mine != waiting_.end() && mine->second.size() >= limits_.per_tenant)
    throw schema::QuotaExceeded(fmt::format("{} predictions are waiting, no more may", limits_.per_tenant),
                                {.name = "predictions", .unit = "concurrent-requests", .most = limits_.per_tenant});
  if (n_waiting_ >= limits_.total) throw Error(ErrorCode::kUnavailable, fmt::format("{} predictions are waiting, no more may", limits_.total));
  if (mine == waiting_.end()) turns_.push_back(tenant);
  try {
    waiting_[tenant].push_back(added);
  } catch (...) {   // no memory: a turn without a question must not stay
    if (const auto made = waiting_.find(tenant); made != waiting_.end() && made->second.empty()) waiting_.erase(made);
    if (!waiting_.contains(tenant)) turns_.pop_back();
    throw;
  }
  ++n_waiting_;
  changed_.notify_one();
  return handle;
}

AskWorker::QuestionPointer AskWorker::next() {
  std::string tenant = std::move(turns_.front());
  turns_.pop_front();
  const auto mine = waiting_.find(tenant);
  QuestionPointer question = std::move(mine->second.front());
  mine->second.pop_front();
  --n_waiting_;
  if (mine->second.empty())
    waiting_.erase(mine);
  else
    turns_.push_back(std::move(tenant));
  return question;
}

void AskWorker::forget(const QuestionPointer& question) {
  const std::lock_guard lock(mutex_);
  const auto mine = waiting_.find(question->tenant);
  if (mine == waiting_.end() || std::erase(mine->second, question) == 0) return;   // it has had its turn
  --n_waiting_;
  if (!mine->second.empty()) return;
  waiting_.erase(mine);
  std::erase(turns_, question->tenant);
}

void AskWorker::loop(std::stop_token stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, kIdleRead, [this] { return n_waiting_ > 0; });
    if (stop.stop_requested()) break;
    const QuestionPointer question = n_waiting_ > 0 ? next() : nullptr;
    lock.unlock();
    if (question)
      settle(*question);
    else
      drain();
  }
  std::unique_lock lock(mutex_);
  is_closed_ = true;
  const Error stopping(ErrorCode::kUnavailable, "the server is stopping");
  while (n_waiting_ > 0) next()->answered({}, std::make_exception_ptr(stopping));
  lock.unlock();
  process_.reset();
}

void AskWorker::settle(Question& question) {
  schema::AnswerReport report;
  std::exception_ptr error;
  try {
    report = answer(question.command());
  } catch (...) {
    error = std::current_exception();
  }
  question.answered(std::move(report), std::move(error));
  question.command = nullptr, question.answered = nullptr;   // the caller may keep the handle for longer; the request and its body are freed now
}

schema::AnswerReport AskWorker::answer(schema::AskCommand command) {
  if (!process_) process_ = std::make_unique<WorkerProcess>(program_, "cpu");
  command.leaseToken = ++last_token_;
  const auto until = Clock::now() + kAnswerDeadline;
  schema::WorkerCommand wrapped{std::move(command)};
  if (!process_->send(process_->prepare(wrapped))) {
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
