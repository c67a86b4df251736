// A job as it is stored, with whose it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/job.h"

namespace kedge::server {

struct OwnedJob {
  schema::Job job;      // with its result once there
  std::string tenant;   // empty: submitted without authentication
};

// What has changed in the list of jobs since a position in it. Each job comes once, as a list shows it, however often
// it changed.
struct JobChanges {
  struct Changed {
    std::int64_t position = 0;   // of its last change of state
    schema::Job job;
  };
  std::vector<Changed> jobs;   // in the order of their positions
  std::int64_t position = 0;   // up to which this tells everything
  bool more = false;           // there was more than was asked for
};

}  // namespace kedge::server
