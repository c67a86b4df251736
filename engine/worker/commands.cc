// Reads commands in the thread that waits for them, or in a thread of its own: see commands.h.
#include "engine/worker/commands.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "engine/core/lent_file.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr timespec kAlone{.tv_sec = 0, .tv_nsec = 2'000'000}, kNever{};

int checked(int fd, const char* what) {
  if (fd < 0) throw schema::Error(schema::ErrorCode::kInternal, fmt::format("{}: {}", what, std::generic_category().message(errno)));
  return fd;
}

}  // namespace

Commands::Commands(WorkerChannel& channel)
    : channel_(channel),
      timer_(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create")),
      recall_(checked(::eventfd(0, EFD_CLOEXEC), "eventfd")) {
  std::thread([this] { look_out(); }).detach();
}

std::vector<PendingRun> Commands::next(std::size_t most_questions) {
  end_job();
  std::optional<PendingRun> run;
  while (!(run = inbox_.take())) read_one();
  std::vector<PendingRun> taken;
  const bool asks = std::holds_alternative<schema::AskCommand>(run->command);
  taken.push_back(std::move(*run));
  while (asks && taken.size() < most_questions) {
    if (std::optional<PendingRun> more = inbox_.take_question()) taken.push_back(std::move(*more));
    else if (inbox_.is_empty() && channel_.has_message()) read_one();
    else break;
  }
  begin_job();
  return taken;
}

// Without destructors: a job may be in the middle of a computation on another thread, and nothing here needs to be kept.
void Commands::read_one() try {
  std::optional<schema::WorkerCommand> command = channel_.receive<schema::WorkerCommand>();
  if (!command || std::holds_alternative<schema::ExitCommand>(command->body)) std::_Exit(EXIT_SUCCESS);
  if (auto* run = std::get_if<schema::RunCommand>(&command->body)) {
    LentFiles files = take_lent(run->lentFiles, {&run->dataPath, &run->modelPath});
    inbox_.push(std::move(*run), std::move(files));
  }
  if (auto* ask = std::get_if<schema::AskCommand>(&command->body)) {
    LentFiles files = take_lent(ask->lentFiles, {&ask->modelPath});
    inbox_.push(std::move(*ask), std::move(files));
  }
  if (const auto* cancel = std::get_if<schema::CancelCommand>(&command->body)) inbox_.cancel(cancel->jobId);
} catch (const std::exception& error) {
  fmt::print(stderr, "kedge-worker: {}\n", error.what());
  std::_Exit(EXIT_FAILURE);
}

// The files that came with a command. Its paths then name them, because a confined worker may not open others.
LentFiles Commands::take_lent(std::uint8_t count, std::initializer_list<std::string*> paths) {
  std::vector<int> files;
  for (std::string* path : paths) {
    if (files.size() == count) break;
    files.push_back(channel_.take_file());
    *path = lent_path(files.back());
  }
  return LentFiles(std::move(files));
}

void Commands::begin_job() {
  channel_.hold();
  {
    const std::lock_guard lock(mutex_);
    has_job_ = true;
  }
  const itimerspec once{.it_interval = kNever, .it_value = kAlone};
  ::timerfd_settime(timer_, 0, &once, nullptr);
}

void Commands::end_job() {
  const itimerspec off{.it_interval = kNever, .it_value = kNever};
  ::timerfd_settime(timer_, 0, &off, nullptr);
  std::unique_lock lock(mutex_);
  has_job_ = false;
  if (!is_out_) return;
  ::eventfd_write(recall_, 1);
  changed_.wait(lock, [this] { return !is_out_; });
}

// False when it was called back.
bool Commands::wait_for_command() const {
  if (channel_.has_message()) return true;
  std::array<pollfd, 2> fds{{{.fd = channel_.fd(), .events = POLLIN}, {.fd = recall_, .events = POLLIN}}};
  while (::poll(fds.data(), fds.size(), -1) < 0) {
  }
  return fds[1].revents == 0;
}

// The lookout's life.
void Commands::look_out() {
  while (true) {
    std::uint64_t times = 0;
    if (::read(timer_, &times, sizeof times) < 0) continue;   // interrupted
    {
      const std::lock_guard lock(mutex_);
      if (!has_job_) continue;   // it has just ended
      is_out_ = true;
    }
    if (!channel_.release()) std::_Exit(EXIT_SUCCESS);
    while (wait_for_command()) read_one();
    eventfd_t count = 0;
    ::eventfd_read(recall_, &count);
    {
      const std::lock_guard lock(mutex_);
      is_out_ = false;
    }
    changed_.notify_one();
  }
}

}  // namespace kedge::engine
