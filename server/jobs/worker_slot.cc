// One device's place in the server: see worker_slot.h.
#include "server/jobs/worker_slot.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "engine/core/memory_reserve.h"
#include "engine/faults/fail_point.h"
#include "schemas/codec.h"

namespace kedge::server {
namespace {

constexpr int kFailuresToTell = 3;
constexpr std::chrono::milliseconds kFirstPause{100}, kLongestPause{5'000};
constexpr std::chrono::milliseconds kGoodbye{1'000};   // for an idle worker to end by itself
constexpr std::size_t kBriefBytes = 16 << 10;          // find room in the socket of a worker that has read all before

}  // namespace

struct WorkerSlot::Session {
  WorkerProcess process;
  Clock::duration silent{};                               // how long nothing came, while this process ran itself
  Clock::time_point kill_at = Clock::time_point::max();   // after a cancel
  bool said_hello = false;
  std::string job;   // that it runs; empty: idle
  std::int64_t lease = 0;
  std::string last_words;   // why it could not open its device
  std::optional<WorkerEnd> killed;   // by us, and why
};

WorkerSlot::WorkerSlot(WorkerOptions options, std::string device, WorkerListener& listener)
    : options_(std::move(options)),
      device_(std::move(device)),
      listener_(listener),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = std::jthread([this](std::stop_token stop) { loop(stop); });
}

WorkerSlot::~WorkerSlot() {
  request_stop();
  thread_.join();
  ::close(wake_fd_);
}

void WorkerSlot::request_stop() {
  thread_.request_stop();
  ::eventfd_write(wake_fd_, 1);
}

// By the caller's own thread where possible, because waking ours takes longer than many jobs.
void WorkerSlot::run(schema::RunCommand command) {
  schema::WorkerCommand wrapped{std::move(command)};
  {
    const std::lock_guard lock(mutex_);
    if (idle_ && waiting_.empty()) {
      const WorkerProcess::Outgoing outgoing = idle_->process.prepare(wrapped);
      if (outgoing.bytes.size() <= kBriefBytes) return begin(*idle_, std::get<schema::RunCommand>(wrapped.body), outgoing);
    }
  }
  send_later(std::move(wrapped));
}

void WorkerSlot::cancel(const std::string& job) {
  send_later({schema::CancelCommand{job}});
}

void WorkerSlot::send_later(schema::WorkerCommand command) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(command));
  }
  ::eventfd_write(wake_fd_, 1);
}

std::vector<schema::WorkerCommand> WorkerSlot::take_waiting() {
  const std::lock_guard lock(mutex_);
  return std::exchange(waiting_, {});
}

void WorkerSlot::loop(std::stop_token stop) {
  const engine::UsesReserve reserve;
  int failures = 0;
  while (!stop.stop_requested()) {
    const WorkerLoss loss = live(stop);
    if (stop.stop_requested()) return;
    listener_.worker_lost(device_, loss);
    take_waiting();   // they were for the old worker; the listener gives no new command before the next worker_ready()
    failures = loss.why != WorkerEnd::kNotStarted ? 0 : failures + 1;
    if (failures >= kFailuresToTell) listener_.worker_unavailable(device_, fmt::format("its worker does not start: {}", loss.how));
    if (failures > 0) wait_before_retry(failures);
  }
}

// From then on no other thread sends to the worker.
struct WorkerSlot::Retires {
  WorkerSlot& slot;
  ~Retires() {
    const std::lock_guard lock(slot.mutex_);
    slot.idle_ = nullptr;
  }
};

// The life of one worker.
WorkerLoss WorkerSlot::live(std::stop_token stop) {
  try {
    Session session{.process = WorkerProcess(options_.program, device_, stop)};
    std::string how;
    {
      const Retires afterwards{*this};
      how = serve(session, stop);
    }
    const WorkerEnd why = session.said_hello ? session.killed.value_or(how.starts_with("signal") ? WorkerEnd::kSignal : WorkerEnd::kExit)
                                             : WorkerEnd::kNotStarted;
    return {.how = std::move(how), .why = why, .job_begun = !session.job.empty()};
  } catch (const schema::Error& error) {
    return {.how = error.message};
  }
}

// Until there is a message, the process has died (with nothing more to read), this thread was woken, or `until`.
WorkerSlot::Woken WorkerSlot::wait(Session& session, Clock::time_point until) {
  if (session.process.channel().has_message()) return Woken::kByMessage;   // that came with the one before
  bool died = false;
  if (poll_for(session.process.channel().fd(), session.process.pid_fd(), until, died) != 0) return Woken::kByMessage;
  return died ? Woken::kByDeath : Woken::kOtherwise;
}

// What is to be read from `fd`; -1 means no descriptor.
short WorkerSlot::poll_for(int fd, int pid_fd, Clock::time_point until, bool& died) {
  std::array<pollfd, 3> fds{{{.fd = fd, .events = POLLIN}, {.fd = wake_fd_, .events = POLLIN}, {.fd = pid_fd, .events = POLLIN}}};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  ::poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
  if (eventfd_t count = 0; fds[1].revents != 0) ::eventfd_read(wake_fd_, &count);
  died = fds[2].revents != 0;
  return fds[0].revents;
}

void WorkerSlot::wait_before_retry(int failures) {
  bool died = false;
  poll_for(-1, -1, Clock::now() + std::min(kLongestPause, kFirstPause * (1 << std::min(failures - 1, 10))), died);
}

// Until there is something to do, or for a part of the silence that is allowed: what goes beyond was no silence of the worker's, but
// both were suspended, as in a container that is paused.
WorkerSlot::Woken WorkerSlot::listen(Session& session) {
  const Clock::duration part = allowed_silence(session) / 10;
  const Clock::time_point begin = Clock::now();
  const Woken woken = wait(session, std::min(begin + part, session.kill_at));
  session.silent += std::min<Clock::duration>(Clock::now() - begin, 2 * part);
  return woken;
}

std::chrono::milliseconds WorkerSlot::allowed_silence(const Session& session) const {
  return session.said_hello ? options_.heartbeat_timeout : options_.start_timeout;
}

// Until the worker has ended; returns how. What it has said is heard before it is judged for its silence, so that a server
// that was itself suspended does not kill healthy workers.
std::string WorkerSlot::serve(Session& session, std::stop_token stop) {
  while (true) {
    const Woken woken = listen(session);
    const bool readable = woken == Woken::kByMessage;
    if (stop.stop_requested()) {
      leave(session);
      return {};
    }
    if (readable && !receive(session)) {
      const std::string how = session.process.end();
      return session.last_words.empty() ? how : session.last_words;
    }
    if (woken == Woken::kByDeath) return session.process.end();   // something that it left behind holds the channel open
    send_waiting(session);   // after receive(): not to a worker that has just ended
    if (readable) continue;
    const Clock::time_point now = Clock::now();
    if (now >= session.kill_at) {
      session.process.end();
      session.killed = WorkerEnd::kCancelled;
      return fmt::format("killed: it did not cancel within {}", options_.cancel_grace);
    }
    if (session.silent >= allowed_silence(session)) {
      session.process.end();
      session.killed = WorkerEnd::kSilent;
      return fmt::format("killed: no sign of life for {}", allowed_silence(session));
    }
  }
}

void WorkerSlot::send_waiting(Session& session) {
  for (schema::WorkerCommand& command : take_waiting()) {
    const std::lock_guard lock(mutex_);
    send(session, command);
  }
}

// Under the lock.
void WorkerSlot::send(Session& session, schema::WorkerCommand& command) {
  if (const auto* cancel = std::get_if<schema::CancelCommand>(&command.body)) {
    if (cancel->jobId != session.job) return;
    session.kill_at = std::min(session.kill_at, Clock::now() + options_.cancel_grace);
    session.process.channel().send(command);   // a worker that has ended is noticed by the next receive()
  } else {
    const WorkerProcess::Outgoing outgoing = session.process.prepare(command);
    begin(session, std::get<schema::RunCommand>(command.body), outgoing);
  }
}

// Under the lock.
void WorkerSlot::begin(Session& session, const schema::RunCommand& run, const WorkerProcess::Outgoing& outgoing) {
  session.job = run.jobId, session.lease = run.leaseToken;
  idle_ = nullptr;
  KEDGE_FAIL_POINT("worker.send.before");
  try {   // a worker that has ended is noticed by the next receive()
    if (!session.process.send(outgoing)) session.job.clear();
  } catch (const schema::Error&) {   // it does not read: it is of no use for this job
    session.process.channel().shutdown();
  }
  KEDGE_FAIL_POINT("worker.send.after");
}

// False when the worker has ended, or sends what no worker sends.
bool WorkerSlot::receive(Session& session) {
  // ECONNRESET at a send means that the peer has died with something unread: then the job was not begun.
  engine::WorkerChannel& channel = session.process.channel();
  std::byte first{};
  if (!channel.has_message() && ::recv(channel.fd(), &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == ECONNRESET) {
    const std::lock_guard lock(mutex_);
    session.job.clear();
  }
  KEDGE_FAIL_POINT("worker.receive.before");
  std::optional<schema::WorkerReport> report;
  try {
    report = channel.receive<schema::WorkerReport>();
  } catch (const schema::Error&) {   // stuck in the middle of a message, or not a message
  } catch (const std::bad_alloc&) {   // or it is larger than the free memory: where the next message begins is unknown
  }
  KEDGE_FAIL_POINT("worker.receive.after");
  if (!report) return false;
  if (std::holds_alternative<schema::HelloReport>(report->body)) session.said_hello = true;
  session.silent = {};
  const auto ends_job = [&](std::int64_t lease) {
    const std::lock_guard lock(mutex_);
    if (lease != session.lease) return;
    session.job.clear();
    session.kill_at = Clock::time_point::max();
    idle_ = &session;
  };
  if (auto* hello = std::get_if<schema::HelloReport>(&report->body)) {
    hello->device.id = device_;
    listener_.worker_ready(hello->device);
  } else if (auto* event = std::get_if<schema::EventReport>(&report->body)) {
    listener_.worker_event(device_, std::move(*event));
  } else if (auto* done = std::get_if<schema::DoneReport>(&report->body)) {
    session.process.deliver();   // first: the next run begins as soon as this one has ended
    ends_job(done->leaseToken);
    listener_.worker_done(device_, std::move(*done));
  } else if (auto* failed = std::get_if<schema::FailedReport>(&report->body)) {
    if (!session.said_hello) session.last_words = failed->error.message;
    ends_job(failed->leaseToken);
    listener_.worker_failed(device_, std::move(*failed));
  }
  return true;
}

// An idle worker may say goodbye; the destructor of the process kills any other.
void WorkerSlot::leave(Session& session) {
  {
    const std::lock_guard lock(mutex_);
    if (!session.job.empty() || !session.said_hello) return;
    idle_ = nullptr;
  }
  session.process.channel().send(schema::WorkerCommand{schema::ExitCommand{}});
  for (const Clock::time_point until = Clock::now() + kGoodbye; Clock::now() < until;) {
    const Woken woken = wait(session, until);
    if (woken == Woken::kByDeath || (woken == Woken::kByMessage && !receive(session))) return;
  }
}

}  // namespace kedge::server
