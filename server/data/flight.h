// One piece of work that several callers wait for; each sees its events and gets its result.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "schemas/error.h"
#include "schemas/event.h"
#include "server/data/dataset_cache.h"

namespace kedge::server {

using Emit = std::function<void(schema::EventBody)>;

// What is being handled, as the error of a job whose data cannot be had.
schema::Error current_data_error();

// Runs work in a thread of its own, one at a time for each key: callers that come while it runs join it. The work stops when the
// last of its callers has been cancelled. Thread safe; the destructor stops and joins everything.
class FlightDeck {
 public:
  using Work = std::function<AcquiredDataset(const Emit& emit, std::stop_token stop)>;

  ~FlightDeck();

  // Blocks. `emit` is called on the caller's thread, with the events from the work's beginning on. Errors: those of the work;
  // kCancelled as soon as `stop` is requested.
  AcquiredDataset fly(const std::string& key, const Work& work, const Emit& emit, std::stop_token stop);

 private:
  struct Flight {
    std::string key;
    int waiters = 0;                         // all but the thread are guarded by mutex_
    bool done = false, abandoned = false;
    std::vector<schema::EventBody> events;
    std::optional<AcquiredDataset> result;
    std::optional<schema::Error> error;
    std::condition_variable_any changed;
    std::jthread thread;
  };

  Flight& join_or_start(const std::string& key, const Work& work);
  void run(Flight& flight, const Work& work, std::stop_token stop);
  void leave(Flight& flight);
  void remove_landed();

  std::mutex mutex_;
  std::list<std::unique_ptr<Flight>> flights_;
};

}  // namespace kedge::server
