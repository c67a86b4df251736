// How long jobs are kept: a thread that forgets what is too old, or too much.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "server/jobs/store.h"

namespace kedge::server {

// Open jobs are never forgotten. 0: no bound.
struct RetentionOptions {
  std::chrono::seconds jobs{30 * 24 * 3600};    // after their end
  std::chrono::seconds events{7 * 24 * 3600};   // after their job's end; its last two, result and final state, stay with the job
  std::int64_t events_per_job = 100'000;        // the newest; older ones become a gap, also while the job runs
  std::int64_t store_bytes = std::int64_t{8} << 30;
  std::chrono::milliseconds interval{60'000};
};

class Retention {
 public:
  Retention(Store& store, RetentionOptions options);   // `store` outlives this object
  ~Retention();
  void sweep();   // what the thread does at each interval; returns when it is on disk

 private:
  void loop(std::stop_token stop);
  // Does `change` to the jobs that `find` finds, some at a time, until it finds none.
  template <class Find, class Change>
  void work(Find find, Change change);
  bool write(std::function<void(StoreWriter&)> apply);   // false: the store is closing

  Store& store_;
  const RetentionOptions options_;
  std::jthread thread_;
};

}  // namespace kedge::server
