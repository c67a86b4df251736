// Many jobs over one server or several: some at a time, in order or as they come, and again where an earlier run
// stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kedge/session.h"

namespace kedge {

// Where a job of an earlier run is.
struct MapPlace {
  std::size_t server = 0;   // by position
  std::string job;          // its id there
};

struct MapOptions {
  int in_flight = 4;     // jobs at a time on each server, at least 1
  bool ordered = true;   // in the order of the specs; else as they come
  // A name for this list of jobs, at most 200 characters. Each job then has a key of its own, so that a run that is
  // started again gets the jobs of the first from the same server; empty: every run has new jobs.
  std::string key = {};
  std::map<std::size_t, MapPlace> known = {};   // jobs that were submitted before, by the position of their spec
  // Called on a thread of the run, one call at a time, as soon as a server has a job: what `known` of a later run
  // needs.
  std::function<void(std::size_t spec, const MapPlace& place)> submitted = {};
};

// One job that has ended, or one that no server took.
struct Mapped {
  std::size_t spec = 0;   // by position
  MapPlace place = {};    // without an id where it was not submitted
  std::optional<Result> result = {};
  std::optional<Error> error = {};   // the job's, or why it was not submitted; there is one of both
};

// An input range of what has ended. Reading waits. Destroying it leaves jobs that were submitted to the servers.
class MapRun {
 public:
  class Iterator {
   public:
    using value_type = Mapped;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(MapRun* run) : run_(run) { ++*this; }
    Mapped& operator*() const { return *run_->current_; }
    Mapped* operator->() const { return &*run_->current_; }
    Iterator& operator++() {
      run_->current_ = run_->next();
      if (!run_->current_) run_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.run_ == nullptr; }

   private:
    MapRun* run_ = nullptr;
  };

  MapRun(std::vector<Session> servers, std::vector<schema::JobSpec> specs, MapOptions options);
  MapRun(MapRun&&) noexcept;
  ~MapRun();
  std::optional<Mapped> next();   // nullopt after the last
  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::optional<Mapped> current_;
};

// A job goes to the server that has room for one first. A server that stays away for a minute gets no more; what it has
// not taken goes to the others, and what it has taken is an error of that job (kConnection). Errors: kInvalidValue
// without servers, or for options out of bounds.
MapRun map_jobs(std::vector<Session> servers, std::vector<schema::JobSpec> specs, MapOptions options = {});

}   // namespace kedge
