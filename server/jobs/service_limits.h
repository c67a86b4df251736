// What the operator grants jobs and tenants; may change while the job service runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "schemas/job.h"
#include "server/store/retention_options.h"

namespace kedge::server {

using TenantWeights = std::map<std::string, double>;   // shares of the devices, greater than 0; a tenant that is not here has 1

struct TenantLimits {
  std::size_t open_jobs = 0;   // of one tenant; 0: no bound
  std::size_t fetches = 8;     // of one tenant at the same time; 0: no bound but that of all
  std::uint64_t bytes = 0;     // of data sets, models and artifacts of one tenant on the disk; 0: no bound
  std::uint64_t content_bytes =
      0;   // of those, data sets without a name: beyond, the ones used longest ago go; 0: no bound
  TenantWeights weights;
};

// Of models that jobs have left. 0: no bound.
struct ModelBounds {
  std::int64_t all_bytes = std::int64_t{32} << 30, tenant_bytes = std::int64_t{8} << 30;   // in all, of one tenant
  std::chrono::seconds young{300};   // since the last use: for so long none goes, so that for so long the bounds may be exceeded
  std::chrono::milliseconds interval{60'000};
};

struct ServiceLimits {
  TenantLimits tenants;
  schema::Deadlines deadlines{
      .queue = 0, .fetch = 4 * 3600.0, .run = 7 * 24 * 3600.0};   // seconds that no job may exceed; 0: none
  RetentionOptions retention;
  ModelBounds models = {};
  std::chrono::seconds kept_uploads{3600};   // whose connection has broken, for another to go on
  std::uintmax_t cache_bytes = 0;   // of parsed data sets without uploads; 0: no bound
};

}   // namespace kedge::server
