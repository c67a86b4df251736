// fork and exec.
#include "client/host/child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "schemas/error.h"

namespace kedge::host {
namespace {

constexpr int kNoProgram = 127;

std::vector<char*> environment() {
  std::vector<char*> kept;
  for (char** variable = environ; *variable; ++variable)
    if (!std::string_view(*variable).starts_with("KEDGE_")) kept.push_back(*variable);
  kept.push_back(nullptr);
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

// Only async-signal-safe calls between fork and exec.
[[noreturn]] void become(const char* file, const std::array<int, 3>& fds, char* const* words, char* const* variables) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int i = 0; i < 3; ++i) ::dup2(fds[static_cast<std::size_t>(i)], i);
  for (const int number : {SIGTERM, SIGINT, SIGPIPE, SIGCHLD}) ::signal(number, SIG_DFL);
  ::execve(file, words, variables);
  ::_exit(kNoProgram);
}

}   // namespace

Child::Child(const std::string& file, const std::vector<std::string>& words) {
  std::array<int, 3> theirs{-1, -1, -1};
  bool is_made = true;
  for (std::size_t i = 0; i < 3; ++i) {
    int ends[2] = {-1, -1};
    is_made = is_made && ::pipe2(ends, O_CLOEXEC) == 0;
    theirs[i] = ends[i == 0 ? 0 : 1], fds_[i] = ends[i == 0 ? 1 : 0];
    if (fds_[i] >= 0) ::fcntl(fds_[i], F_SETFL, O_NONBLOCK);
  }
  std::vector<std::string> copies = words;
  const std::vector<char*> arguments = pointers(copies), variables = environment();
  pid_ = is_made ? ::fork() : -1;
  const int why = errno;
  if (pid_ == 0) become(file.c_str(), theirs, arguments.data(), variables.data());
  for (const int fd : theirs)
    if (fd >= 0) ::close(fd);
  if (pid_ > 0) return;
  for (const int fd : {in(), out(), err()}) close_end(fd);
  throw schema::Error(schema::ErrorCode::kUnavailable,
                      fmt::format("cannot start {}: {}", file, std::generic_category().message(why)));
}

Child::~Child() {
  for (const int fd : {in(), out(), err()}) close_end(fd);
}

void Child::close_end(int fd) {
  for (int& own : fds_) {
    if (own < 0 || own != fd) continue;
    ::close(own);
    own = -1;
  }
}

std::optional<int> Child::status() {
  int code = 0;
  if (!status_ && ::waitpid(pid_, &code, WNOHANG) == pid_)
    status_ = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
  return status_;
}

}   // namespace kedge::host
