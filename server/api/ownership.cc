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

[[noreturn]] void throw_no_job(std::string_view job) {
  throw schema::Error(schema::ErrorCode::kNotFound, fmt::format("there is no job '{}'", job));
}

}  // namespace

OwnedJob find_owned(const Api& api, const http::Caller& caller, std::string_view job) {
  std::optional<OwnedJob> found = api.jobs.find_owned(job);
  if (!found || !may_see(caller, found->tenant)) throw_no_job(job);
  return std::move(*found);
}

void check_owner(const Api& api, const http::Caller& caller, std::string_view job) {
  if (!may_see(caller, api.jobs.tenant(job))) throw_no_job(job);
}

std::string known_model(const Api& api, const http::Caller& caller, std::string_view reference) {
  std::string id(reference);
  if (api.registry) id = api.registry->known(caller.tenant, reference).value_or(ModelRegistry::Meaning()).model;
  const std::shared_ptr<const OwnedModel> model = id.empty() ? nullptr : api.jobs.known_model(id);
  return model && may_see(caller, model->tenant) ? id : std::string();
}

std::string resolve_model(const Api& api, const http::Caller& caller, std::string_view reference, std::string path) {
  try {
    std::string model = api.registry ? api.registry->resolve(caller.tenant, reference) : std::string(reference);
    if (may_see(caller, api.jobs.model_tenant(model))) return model;
  } catch (schema::Error& error) {
    if (error.where.empty()) error.where = std::move(path);
    throw;
  }
  throw schema::Error(schema::ErrorCode::kNotFound, fmt::format("there is no model '{}'", reference), std::move(path));
}

}  // namespace kedge::server::api
