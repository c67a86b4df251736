// Where a worker's commands come from: while it has nothing to do it reads the channel itself, during a job that takes long another thread does.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/worker/channel.h"
#include "engine/worker/inbox.h"

namespace kedge::engine {

// A short job is over before a second thread would have woken, which costs as much as many a fit: so for its first 2 ms a job's commands
// are not read, and what it sends kWithNext waits in the channel. Then the lookout, a thread of this object, releases that and reads, so
// that a cancel reaches the job. Resource; next() is for the one thread that computes. The process ends, with exit code 0, as soon as
// kedged says so or is gone, and with 1 at a command that cannot be read. Borrows the channel.
class Commands {
 public:
  explicit Commands(WorkerChannel& channel);   // Errors: kInternal with the system's words
  Commands(const Commands&) = delete;
  ~Commands() = delete;   // the process ends first

  // The next run, or the questions that wait: one, or several up to `most`. What next() gave before is over.
  std::vector<PendingRun> next(std::size_t most_questions);

 private:
  void read_one();
  LentFiles take_lent(std::uint8_t count, std::initializer_list<std::string*> paths);
  void begin_job();
  void end_job();
  void look_out();
  bool wait_for_command() const;

  WorkerChannel& channel_;
  Inbox inbox_;
  const int timer_, recall_;   // descriptors: wakes the lookout, and calls it back

  std::mutex mutex_;   // guards what follows
  std::condition_variable changed_;
  bool has_job_ = false, is_out_ = false;   // whether the lookout is the one that reads
};

}  // namespace kedge::engine
