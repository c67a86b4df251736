// What the operator grants each tenant of the job service; may change while it runs.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace kedge::server {

using TenantWeights = std::map<std::string, double>;   // shares of the devices, greater than 0; a tenant that is not here has 1

struct TenantLimits {
  std::size_t open_jobs = 0;   // of one tenant; 0: no bound
  TenantWeights weights;
};

}   // namespace kedge::server
