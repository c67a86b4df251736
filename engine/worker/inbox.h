// What kedged has sent to this worker: the runs that wait, and which of them were cancelled.
#pragma once

#include <unistd.h>

#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schemas/worker.h"

namespace kedge::engine {

// Open files that kedged lent with a command; closed with this object.
class LentFiles {
 public:
  LentFiles() = default;
  explicit LentFiles(std::vector<int> files) : files_(std::move(files)) {}
  LentFiles(LentFiles&& other) noexcept : files_(std::exchange(other.files_, {})) {}
  LentFiles& operator=(LentFiles&& other) noexcept {
    std::swap(files_, other.files_);
    return *this;
  }
  ~LentFiles() {
    for (const int file : files_) ::close(file);
  }

 private:
  std::vector<int> files_;
};

struct PendingRun {
  std::variant<schema::RunCommand, schema::AskCommand> command;
  std::stop_source stop;
  LentFiles files = {};
  // Of a run; a question to a model belongs to no job.
  std::string job_id() const {
    const auto* run = std::get_if<schema::RunCommand>(&command);
    return run ? run->jobId : std::string();
  }
};

// Thread safe: the thread that takes runs out may be another than the one that reads the channel into it.
class Inbox {
 public:
  void push(schema::RunCommand command, LentFiles files = {}) { add(std::move(command), std::move(files)); }
  void push(schema::AskCommand command, LentFiles files = {}) { add(std::move(command), std::move(files)); }
  // Stops the runs of this job, the one that was taken last included.
  void cancel(const std::string& job_id) {
    const std::lock_guard lock(mutex_);
    for (PendingRun& run : waiting_) {
      if (run.job_id() == job_id) run.stop.request_stop();
    }
    if (job_id == taken_id_) taken_stop_.request_stop();
  }
  bool is_empty() {
    const std::lock_guard lock(mutex_);
    return waiting_.empty();
  }
  // What waits next, if it is a question.
  std::optional<PendingRun> take_question() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty() || !std::holds_alternative<schema::AskCommand>(waiting_.front().command)) return std::nullopt;
    PendingRun question = std::move(waiting_.front());
    waiting_.pop_front();
    return question;
  }
  // The next run, if one waits.
  std::optional<PendingRun> take() {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    PendingRun run = std::move(waiting_.front());
    waiting_.pop_front();
    taken_id_ = run.job_id(), taken_stop_ = run.stop;
    return run;
  }

 private:
  template <class Command>
  void add(Command command, LentFiles files) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(command), std::stop_source(), std::move(files)});
  }

  std::mutex mutex_;
  std::deque<PendingRun> waiting_;
  std::string taken_id_;
  std::stop_source taken_stop_;
};

}  // namespace kedge::engine
