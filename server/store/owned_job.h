// A job as it is stored, with whose it is.
#pragma once

#include <string>

#include "schemas/job.h"

namespace kedge::server {

struct OwnedJob {
  schema::Job job;      // with its result once there
  std::string tenant;   // empty: submitted without authentication
};

}  // namespace kedge::server
