// A program that runs with pipes for stdin, stdout and stderr.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace kedge::host {

// Resource. Gets this process's environment without variables that begin with KEDGE_, and dies with this process.
class Child {
 public:
  // `file` is run with `words` as its arguments, words[0] included. Errors: kUnavailable with the system's words.
  Child(const std::string& file, const std::vector<std::string>& words);
  ~Child();   // closes the pipes; the process goes on
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Ends of pipes; -1 after close_end().
  int in() const { return fds_[0]; }
  int out() const { return fds_[1]; }
  int err() const { return fds_[2]; }
  void close_end(int fd);

  // Once it has ended: its exit status, or 128 and the signal.
  std::optional<int> status();

 private:
  int fds_[3] = {-1, -1, -1};
  pid_t pid_ = -1;
  std::optional<int> status_;
};

}   // namespace kedge::host
