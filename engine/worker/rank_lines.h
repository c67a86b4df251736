// The lines between the first rank of a group and the others: signs of life, and what cannot wait for the next
// collective call.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "engine/comm/comm.h"

namespace kedge::engine {

// A TCP connection from each other rank to the first. Both ends send a byte each second. When a line closes, or brings
// nothing for `silence`, the process ends at once: a call of MPI cannot be interrupted, and might wait for a rank that
// is gone for ever. So a group ends as a whole, also where its launcher is stuck. Where all ranks are in one network
// namespace the first listens on loopback, else on its private addresses alone. Resource; ends with the process.
class RankLines {
 public:
  // Collective. `place` names the machine and network of this rank; `silence`: for how long a line may be silent.
  // Errors, on every rank: kUnavailable where the ranks are on several machines and the first has no private address,
  // or where a rank cannot reach it.
  RankLines(Comm& comm, const std::string& place, std::chrono::milliseconds silence);
  RankLines(const RankLines&) = delete;
  ~RankLines() = delete;

  // Of the first rank; thread safe. Wakes the others for a job; stops the job that they were woken for last.
  void wake() { send_all('W'); }
  void cancel() { send_all('C'); }

  // Of every rank, before a last collective call: from now on lines may close, because all ranks end.
  void expect_end() { is_ending_ = true; }

  // Of the others: waits, without using a core, until the first wakes them. The stop of that job.
  std::stop_token wait_for_wake();

 private:
  void accept_all(const std::vector<int>& listeners, int n_others, const std::string& token);
  void send_all(char what);
  void watch();
  void receive(int line);

  const std::chrono::milliseconds silence_;
  std::atomic<bool> is_ending_ = false;
  std::vector<int> lines_;   // set before the thread begins
  std::mutex mutex_;         // guards what follows
  std::condition_variable changed_;
  std::int64_t woken_ = 0, taken_ = 0;
  std::stop_source stop_;
};

// How a group that has lost a rank ends.
[[noreturn]] void leave_group(const char* why);

}   // namespace kedge::engine
