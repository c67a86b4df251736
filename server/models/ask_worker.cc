// Queues questions, sends them to a worker and hands on its answers: see ask_worker.h.
#include "server/models/ask_worker.h"

#include <poll.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

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

std::shared_ptr<void> AskWorker::ask(Place place, std::function<schema::AskCommand()> question, Answered answered) {
  const std::string tenant = place.tenant;
  const auto due = Clock::now() + place.delay;
  const auto added =
      std::make_shared<Question>(Question{std::move(place), due, std::move(question), std::move(answered)});
  std::shared_ptr<void> handle(nullptr, [this, added](void*) { forget(added); });
  const std::lock_guard lock(mutex_);
  if (is_closed_) throw Error(ErrorCode::kUnavailable, "the server is stopping");
  room_->enter(tenant);
  const bool is_first = !waiting_.contains(tenant);
  try {
    if (is_first) turns_.push_back(tenant);
    waiting_[tenant].push_back(added);
  } catch (...) {   // no memory: a turn without a question must not stay
    if (const auto made = waiting_.find(tenant); made != waiting_.end() && made->second.empty()) waiting_.erase(made);
    if (is_first && !turns_.empty() && turns_.back() == tenant) turns_.pop_back();
    room_->leave(tenant);
    throw;
  }
  ++n_waiting_;
  changed_.notify_one();
  return handle;
}

void AskWorker::note_taken(const Question& question) {
  --n_waiting_;
  room_->leave(question.place.tenant);
}

AskWorker::QuestionPointer AskWorker::next() {
  std::string tenant = std::move(turns_.front());
  turns_.pop_front();
  const auto mine = waiting_.find(tenant);
  QuestionPointer question = std::move(mine->second.front());
  mine->second.pop_front();
  note_taken(*question);
  if (mine->second.empty())
    waiting_.erase(mine);
  else
    turns_.push_back(std::move(tenant));
  return question;
}

void AskWorker::forget(const QuestionPointer& question) {
  const std::lock_guard lock(mutex_);
  const auto mine = waiting_.find(question->place.tenant);
  if (mine == waiting_.end() || std::erase(mine->second, question) == 0) return;   // it has had its turn
  note_taken(*question);
  if (!mine->second.empty()) return;
  waiting_.erase(mine);
  std::erase(turns_, question->place.tenant);
}

void AskWorker::loop(std::stop_token stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, kIdleRead, [this] { return n_waiting_ > 0; });
    if (stop.stop_requested()) break;
    std::vector<QuestionPointer> questions = take(lock, stop);
    lock.unlock();
    if (questions.empty()) drain();
    else settle_all(std::move(questions));
  }
  std::unique_lock lock(mutex_);
  is_closed_ = true;
  const Error stopping(ErrorCode::kUnavailable, "the server is stopping");
  while (n_waiting_ > 0) next()->answered({}, std::make_exception_ptr(stopping));
  lock.unlock();
  end_process();
}

AskWorker::Groups AskWorker::groups() const {
  Groups groups;
  const auto now = Clock::now();
  for (const auto& [tenant, questions] : waiting_)
    for (const QuestionPointer& question : questions) {
      const Place& place = question->place;
      Group& group = groups.of[place.model];
      group.due = std::min(group.due, question->due);
      group.waiting_rows += place.rows;
      group.is_ready |= group.due <= now || n_waiting_ >= limits_.together ||
                        (place.max_rows > 0 && group.waiting_rows >= place.max_rows);
      groups.due = std::min(groups.due, group.due);
      groups.any_ready |= group.is_ready;
    }
  return groups;
}

AskWorker::QuestionPointer AskWorker::take_of(const std::string& tenant, Groups& groups) {
  std::deque<QuestionPointer>& mine = waiting_.at(tenant);
  for (auto at = mine.begin(); at != mine.end(); ++at) {
    const Place& place = (*at)->place;
    Group& group = groups.of.at(place.model);
    if (group.is_full || !group.is_ready) continue;
    if (place.max_rows > 0 && group.taken_rows > 0 && group.taken_rows + place.rows > place.max_rows) {
      group.is_full = true;
      continue;
    }
    group.taken_rows += place.rows;
    QuestionPointer question = std::move(*at);
    mine.erase(at);
    note_taken(*question);
    return question;
  }
  return nullptr;
}

// Tenants that have nothing which may go keep their turn.
std::vector<AskWorker::QuestionPointer> AskWorker::take(std::unique_lock<std::mutex>& lock,
                                                        const std::stop_token& stop) {
  std::vector<QuestionPointer> taken;
  Groups all;   // its names are those of questions, which wait or are taken
  while (n_waiting_ > 0 && !stop.stop_requested()) {
    all = groups();
    if (all.any_ready) break;
    changed_.wait_until(lock, stop, all.due, [this, &all] {
      if (n_waiting_ == 0) return true;
      const Groups now = groups();
      return now.any_ready || now.due < all.due;
    });
  }
  if (!all.any_ready || n_waiting_ == 0) return taken;
  std::deque<std::string> passed;
  while (!turns_.empty() && taken.size() < limits_.together) {
    std::string tenant = std::move(turns_.front());
    turns_.pop_front();
    QuestionPointer question = take_of(tenant, all);
    const bool has_more = !waiting_.at(tenant).empty();
    if (!has_more) waiting_.erase(tenant);
    if (has_more) (question ? turns_ : passed).push_back(std::move(tenant));
    if (question) taken.push_back(std::move(question));
  }
  turns_.insert(turns_.begin(), passed.begin(), passed.end());
  return taken;
}

// What a worker that died had not answered is asked once more, one by one: it may have died of another question, or
// have been killed from outside.
void AskWorker::settle_all(std::vector<QuestionPointer> questions) {
  for (QuestionPointer& question : ask_worker(std::move(questions))) {
    std::vector<QuestionPointer> alone;
    alone.push_back(std::move(question));
    for (const QuestionPointer& left : ask_worker(std::move(alone)))
      end(*left, {},
          std::make_exception_ptr(
              Error(ErrorCode::kWorkerCrashed, "the worker died of this question: " + how_it_ended_)));
  }
}

// The caller may keep the handle for longer; the request and its body are freed now.
void AskWorker::end(Question& question, schema::AnswerReport report, std::exception_ptr error) {
  question.answered(std::move(report), std::move(error));
  question.command = nullptr, question.answered = nullptr, question.sent = {};
}

// Returns those that the worker has not answered because it died.
std::vector<AskWorker::QuestionPointer> AskWorker::ask_worker(std::vector<QuestionPointer> questions) {
  std::vector<QuestionPointer> open;
  bool is_alive = true;
  if (process_) process_->channel().hold();
  for (QuestionPointer& question : questions) {
    try {
      if (is_alive) is_alive = send(*question);
      open.push_back(std::move(question));
    } catch (...) {
      end(*question, {}, std::current_exception());
    }
  }
  if (process_ && is_alive) is_alive = process_->channel().release();
  if (!is_alive) {
    how_it_ended_ = process_ ? process_->end() : "has ended";
    end_process();
    return open;
  }
  try {
    auto until = Clock::now() + kAnswerDeadline;
    for (std::size_t left = open.size(); left > 0;) {
      take_answer(open, receive(until));
      if (std::exchange(left, open.size()) != open.size()) until = Clock::now() + kAnswerDeadline;
    }
  } catch (const Error& error) {
    if (error.code != ErrorCode::kWorkerCrashed) give_up(open, error);
  }
  return open;
}

// On the questions to the model that the worker was at.
void AskWorker::give_up(std::vector<QuestionPointer>& open, const Error& error) {
  const std::string model = open.front()->sent.model;
  const auto rest = std::ranges::stable_partition(
      open, [&](const QuestionPointer& question) { return question->sent.model != model; });
  for (const QuestionPointer& question : rest) end(*question, {}, std::make_exception_ptr(error));
  open.erase(rest.begin(), rest.end());
}

// False when the worker has ended.
bool AskWorker::send(Question& question) {
  if (question.token == 0) question.sent = question.command();
  question.token = ++last_token_;
  if (!process_) {
    process_ = std::make_unique<WorkerProcess>(program_, "cpu");
    process_->channel().hold();
  }
  schema::WorkerCommand wrapped{std::move(question.sent)};   // and back, because the body may be large
  auto& command = std::get<schema::AskCommand>(wrapped.body);
  command.leaseToken = question.token;
  std::string path = command.modelPath;
  if (!command.model.empty() && std::ranges::find(loaded_, command.model) != loaded_.end()) command.modelPath.clear();
  note_loaded(command.model);
  const WorkerProcess::Outgoing outgoing = process_->prepare(wrapped);
  question.sent = std::move(command);
  question.sent.modelPath = std::move(path);
  return process_->send(outgoing, engine::WorkerChannel::When::kWithNext);
}

void AskWorker::note_loaded(const std::string& model) {
  if (model.empty()) return;
  std::erase(loaded_, model);
  loaded_.push_front(model);
  if (loaded_.size() > kModelsKept) loaded_.pop_back();
}

void AskWorker::take_answer(std::vector<QuestionPointer>& open, schema::WorkerReport report) {
  const auto settle = [&](std::int64_t token, schema::AnswerReport answer, std::exception_ptr error) {
    const auto found =
        std::ranges::find_if(open, [&](const QuestionPointer& question) { return question->token == token; });
    if (found == open.end()) return;
    const QuestionPointer question = std::move(*found);
    open.erase(found);
    end(*question, std::move(answer), std::move(error));
  };
  if (auto* answer = std::get_if<schema::AnswerReport>(&report.body))
    settle(answer->leaseToken, std::move(*answer), nullptr);
  if (auto* failed = std::get_if<schema::FailedReport>(&report.body)) {
    if (failed->error.code == ErrorCode::kUnavailable && ask_again(open, failed->leaseToken)) return;
    loaded_.clear();   // it may have been the loading that failed, or the worker may have let go of its models
    settle(failed->leaseToken, {}, std::make_exception_ptr(failed->error));
  }
}

// With the model's file, which the worker no longer had loaded. False if the question came with it.
bool AskWorker::ask_again(const std::vector<QuestionPointer>& open, std::int64_t token) {
  const auto found =
      std::ranges::find_if(open, [&](const QuestionPointer& question) { return question->token == token; });
  if (found == open.end() || std::exchange((*found)->is_again, true)) return false;
  loaded_.clear();
  return send(**found);
}

void AskWorker::end_process() {
  process_.reset();
  loaded_.clear();
}

schema::WorkerReport AskWorker::receive(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  if (left.count() <= 0 || !is_readable(process_->channel(), left)) {
    end_process();
    throw Error(ErrorCode::kDeadlineExceeded, "the model did not answer within a minute");
  }
  std::optional<schema::WorkerReport> report;
  try {
    report = process_->channel().receive<schema::WorkerReport>();
  } catch (const Error&) {   // stuck in the middle of a message, or not a message
  }
  if (report) return std::move(*report);
  how_it_ended_ = process_->end();
  end_process();
  throw Error(ErrorCode::kWorkerCrashed, "the worker has died");
}

void AskWorker::drain() {
  while (process_ && is_readable(process_->channel(), std::chrono::milliseconds(0))) {
    try {
      if (!process_->channel().receive<schema::WorkerReport>()) end_process();
    } catch (const Error&) {
      end_process();
    }
  }
}

}  // namespace kedge::server
