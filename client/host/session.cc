// The agent's side of host-exec.
#include "client/host/session.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "client/host/child.h"
#include "client/host/link.h"
#include "client/host/process_tree.h"
#include "crypto/random.h"
#include "schemas/error.h"

namespace kedge::host {
namespace {

using schema::Error;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kHelloLimit{10}, kLastWords{1};
constexpr std::chrono::milliseconds kPatience{2000}, kFlush{5000};
constexpr int kLook_ms = 50;
constexpr std::size_t kMostInput = std::size_t{1} << 20;   // bytes that the program has not read yet

volatile std::sig_atomic_t must_end = 0;

void wait_for(const Link& link) {
  pollfd wait{.fd = link.channel().fd(), .events = link.channel().events(), .revents = 0};
  ::poll(&wait, 1, link.channel().has_more() ? 0 : kLook_ms);
}

// The first frame, whose sender is not known yet. None: it did not come.
std::optional<Frame> hello(Link& link) {
  const auto until = Clock::now() + kHelloLimit;
  while (!link.is_cut() && must_end == 0 && Clock::now() < until) {
    link.step();
    if (std::optional<Frame> frame = link.next()) return frame;
    wait_for(link);
  }
  return std::nullopt;
}

// Why the command is not run; empty: it is.
std::string refusal(const std::vector<std::string>& said, const HostKey& key, const Allowed& allowed) {
  if (said.empty() || !crypto::equal_in_constant_time(said[0], key.token)) return "the token is wrong";
  if (said.size() < 2) return "the command is empty";
  const std::string file = program_file(said[1]);
  if (!file.empty() && allowed.contains(file)) return {};
  std::string list;
  for (const std::string& program : allowed) list += (list.empty() ? "" : ", ") + program;
  return fmt::format("the program is '{}', must be one that this agent may start: {}", said[1], list);
}

class Run {
 public:
  Run(Link& link, Child& child) : link_(link), child_(child) {}

  // Until the program has ended, and what it wrote is queued, or the caller is gone.
  void go_on() {
    while (!link_.is_cut() && must_end == 0) {
      link_.step();
      take_frames();
      feed();
      drain(child_.out(), FrameKind::kOutput);
      drain(child_.err(), FrameKind::kErrors);
      if (has_ended()) return;
      wait();
    }
  }

 private:
  void take_frames() {
    while (input_.size() < kMostInput) {
      const std::optional<Frame> frame = link_.next();
      if (!frame) return;
      if (frame->kind != FrameKind::kInput) continue;
      input_ += frame->bytes;
      is_whole_ = frame->bytes.empty();
    }
  }
  void feed() {
    if (child_.in() < 0) return void(input_.clear());   // the program reads no more
    if (!input_.empty()) {
      const ssize_t n = ::write(child_.in(), input_.data(), input_.size());
      if (n > 0) input_.erase(0, static_cast<std::size_t>(n));
      else if (errno != EAGAIN && errno != EINTR) child_.close_end(child_.in());
    }
    if (is_whole_ && input_.empty()) child_.close_end(child_.in());
  }
  void drain(int fd, FrameKind kind) {
    std::array<char, 65536> buffer;
    if (fd < 0 || link_.is_full()) return;
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n > 0) link_.send(kind, {buffer.data(), static_cast<std::size_t>(n)});
    else if (n == 0) child_.close_end(fd);
  }
  // Processes that it has left behind may keep its outputs open, so that those are waited for for a while alone.
  bool has_ended() {
    const std::optional<int> status = child_.status();
    if (!status) return false;
    if (!ended_) ended_ = Clock::now();
    const bool is_drained = child_.out() < 0 && child_.err() < 0;
    if (!is_drained && (link_.is_full() || Clock::now() - *ended_ < kLastWords)) return false;
    const char code = static_cast<char>(*status);
    link_.send(FrameKind::kExit, {&code, 1});
    return true;
  }
  void wait() const {
    const int out = link_.is_full() ? -1 : child_.out(), err = link_.is_full() ? -1 : child_.err();
    std::array<pollfd, 4> fds{{{.fd = link_.channel().fd(), .events = link_.channel().events(), .revents = 0},
                               {.fd = input_.empty() ? -1 : child_.in(), .events = POLLOUT, .revents = 0},
                               {.fd = out, .events = POLLIN, .revents = 0},
                               {.fd = err, .events = POLLIN, .revents = 0}}};
    ::poll(fds.data(), fds.size(), link_.channel().has_more() ? 0 : kLook_ms);
  }

  Link& link_;
  Child& child_;
  std::string input_;
  bool is_whole_ = false;   // the caller's stdin has ended
  std::optional<Clock::time_point> ended_;
};

void refuse(Link& link, const std::string& why) {
  link.send(FrameKind::kRefusal, why);
  link.flush(kFlush);
}

void serve(Link& link, const HostKey& key, const Allowed& allowed) {
  const std::optional<Frame> frame = hello(link);
  if (!frame || frame->kind != FrameKind::kCommand) return;
  std::vector<std::string> said = divided(frame->bytes);
  if (const std::string why = refusal(said, key, allowed); !why.empty()) {
    fmt::print(stderr, "kedge host-agent: refused: {}\n", why);
    return refuse(link, why);
  }
  said.erase(said.begin());
  keep_orphans();
  Child child(program_file(said[0]), said);
  Run(link, child).go_on();
  end_descendants(kPatience);
  link.flush(kFlush);
}

}   // namespace

std::string program_file(const std::string& word) {
  const auto real = [](const std::filesystem::path& file) {
    std::error_code ignored;
    const bool can_run = std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
    return can_run ? std::filesystem::canonical(file, ignored).string() : std::string();
  };
  if (word.find('/') != std::string::npos) return real(word);
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; !word.empty() && std::getline(folders, folder, ':');)
    if (const std::string file = real(std::filesystem::path(folder) / word); !file.empty()) return file;
  return {};
}

void serve_connection(int fd, const HostKey& key, const Allowed& allowed) {
  ::signal(SIGPIPE, SIG_IGN);
  for (const int number : {SIGTERM, SIGINT}) ::signal(number, [](int) { must_end = 1; });
  Link link(crypto::TlsChannel::accepting(fd, key.certificate, key.secret));
  try {
    serve(link, key, allowed);
  } catch (const Error& error) {
    fmt::print(stderr, "kedge host-agent: {}\n", error.message);
    refuse(link, error.message);
  }
  end_descendants(kPatience);
}

}   // namespace kedge::host
