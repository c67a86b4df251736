// Comparing tenants.
#include "server/api/ownership.h"

#include <fmt/format.h>

#include <utility>

#include "schemas/error.h"

namespace kedge::server::api {

std::string check_owner(const Api& api, const http::Caller& caller, std::string_view job) {
  const auto tenant = api.jobs.tenant(job);
  if (!tenant || (!caller.admin && *tenant != caller.tenant))
    throw schema::Error(schema::ErrorCode::kNotFound, fmt::format("there is no job '{}'", job));
  return *tenant;
}

void check_model_owner(const Api& api, const http::Caller& caller, std::string_view model, std::string path) {
  const auto tenant = api.jobs.model_tenant(model);
  if (!tenant || (!caller.admin && *tenant != caller.tenant))
    throw schema::Error(schema::ErrorCode::kNotFound, fmt::format("there is no model '{}'", model), std::move(path));
}

}  // namespace kedge::server::api
