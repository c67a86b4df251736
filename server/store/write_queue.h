// The writes on their way to the store: from any thread to the one that writes, which they wake no earlier than they need.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "schemas/error.h"
#include "server/store/store.h"

namespace kedge::server {

// A write is urgent if a caller waits for it. It wakes the writer at once. Other writes do so a little later, when
// their caller has done what matters more, such as starting a worker. Thread safe; take() and what follows it are for
// the writer alone.
class WriteQueue {
 public:
  using Clock = std::chrono::steady_clock;

  WriteQueue();   // Errors: kUnavailable with the system's words
  ~WriteQueue();
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  static bool is_urgent(const StoreWrite& write) { return (write.committed || write.refused) && !write.has_time; }

  // Calls write.refused, if it is set, while nothing is taken: after close(), and while the disk fails.
  void push(StoreWrite write);
  std::size_t size() const;
  void close();   // what is in it can still be taken

  void set_failure(std::optional<schema::Error> failure);   // why nothing can be written
  std::optional<schema::Error> failure() const;

  // All that waits, up to a batch; waits for something. Empty when the queue is closed and everything has been taken.
  std::deque<StoreWrite> take();
  // Adds what comes until `until` and has room in the batch. False when nothing did.
  bool take_more(std::deque<StoreWrite>& batch, Clock::time_point until);
  void put_back(std::deque<StoreWrite> writes);   // to the front
  std::deque<StoreWrite> take_rest();
  // Waits. True if the queue is closed by then.
  bool rest(Clock::duration duration);

  static schema::Error closed_error();

 private:
  bool take_waiting(std::deque<StoreWrite>& batch);
  void wait(Clock::time_point until);

  const int now_, soon_;   // descriptors of an event and a timer that wake the writer
  mutable std::mutex mutex_;   // guards what follows
  std::condition_variable closing_;
  std::deque<StoreWrite> queue_;
  std::optional<schema::Error> failure_;
  bool has_urgent_ = false, is_closed_ = false;
};

}  // namespace kedge::server
