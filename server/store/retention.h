// How long jobs are kept: a thread that forgets what is too old, or too much.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "server/store/retention_options.h"
#include "server/store/store.h"

namespace kedge::server {

class Retention {
 public:
  // `store` outlives this object. `removed` is called for each job that is no longer stored, on a thread that may
  // block.
  Retention(Store& store, RetentionOptions options, std::function<void(const Expired&)> removed = {});
  ~Retention();
  void set_options(RetentionOptions options);   // for the next sweep, which comes soon
  void sweep();   // what the thread does at each interval; returns when it is on disk

 private:
  void loop(std::stop_token stop);
  // Does `change` to the jobs that `find` finds, some at a time, until it finds none.
  template <class Find, class Change, class Done>
  void work(Find find, Change change, Done done);
  RetentionOptions options() const;
  bool write(std::function<void(StoreWriter&)> apply);   // false: the store is closing

  Store& store_;
  const std::function<void(const Expired&)> removed_;
  mutable std::mutex mutex_;   // guards the next two
  RetentionOptions options_;
  bool changed_ = false;
  std::condition_variable_any wake_;
  std::jthread thread_;   // last: it uses the others
};

}  // namespace kedge::server
