// How long jobs are kept: a thread that forgets what is too old, or too much.
#pragma once

#include <functional>

#include "server/store/periodic_sweep.h"
#include "server/store/retention_options.h"
#include "server/store/store.h"

namespace kedge::server {

class Retention {
 public:
  // `store` outlives this object. `removed` is called for each job that is no longer stored, on a thread that may
  // block.
  Retention(Store& store, RetentionOptions options, std::function<void(const Expired&)> removed = {});
  // For the next sweep, which comes soon.
  void set_options(RetentionOptions options) { periodic_.set_options(options); }
  void sweep();   // what the thread does at each interval; returns when it is on disk

 private:
  // Does `change` to the jobs that `find` finds, some at a time, until it finds none.
  template <class Find, class Change, class Done>
  void work(Find find, Change change, Done done);
  bool write(std::function<void(StoreWriter&)> apply);   // false: the store is closing

  Store& store_;
  const std::function<void(const Expired&)> removed_;
  PeriodicSweep<RetentionOptions> periodic_;   // last: its thread uses the others
};

}  // namespace kedge::server
