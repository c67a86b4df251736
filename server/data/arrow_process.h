// One kedge-arrow: a process of its own for a file that is read or written.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/arrow/channel.h"
#include "schemas/error.h"

namespace kedge::server {

inline constexpr std::string_view kArrowProgram = "kedge-arrow";

// Beside this program; empty where it is not installed.
std::filesystem::path arrow_program();

// An open file. Errors: kStorageFull, kUnavailable.
class OpenedFile {
 public:
  OpenedFile(const std::filesystem::path& path, int flags);
  OpenedFile(const OpenedFile&) = delete;
  ~OpenedFile();
  int get() const { return fd_; }

 private:
  int fd_;
};

// What the process is for.
struct ArrowErrand {
  std::filesystem::path input;   // its standard input
  int threads = 1;
  bool writes = false;
  std::string source;              // names the file in messages
  schema::Error lacks_libraries;   // of the process that does not find Arrow's
};

// The process ends with this. Its memory has a bound, and so has its processor time; it sees no other file and no
// network. Not thread safe, but that a stop, from any thread, ends what waits. Errors of the calls: kCancelled after a
// stop; what the process says; kDatasetCorrupt where it ends early, with its signal; ArrowErrand::lacks_libraries.
class ArrowProcess {
 public:
  // Errors: kUnavailable where it cannot be started.
  ArrowProcess(ArrowErrand errand, std::stop_token stop);
  ArrowProcess(const ArrowProcess&) = delete;
  ~ArrowProcess();

  void send(engine::ArrowSays says, std::string_view body, int file);
  engine::ArrowMessage receive();
  engine::ArrowMessage receive(engine::ArrowSays wanted);
  // Of one that says what it may not.
  [[noreturn]] void refuse();
  // Kills it, if it has not ended; then nothing else has the files that it was given.
  void end();

 private:
  // Why it ended, in words.
  std::string end_in_words();

  const ArrowErrand errand_;
  const std::stop_token stop_;
  int socket_ = -1;
  pid_t pid_ = -1;
  bool has_closed_ = false, lacks_libraries_ = false;
  std::optional<std::stop_callback<std::function<void()>>> end_it_;   // what waits for the socket then fails
};

}   // namespace kedge::server
