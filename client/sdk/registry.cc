// The calls of the model registry.
#include "kedge/registry.h"

#include <fmt/core.h>

#include "client/sdk/path.h"
#include "client/sdk/transport.h"
#include "schemas/codec.h"

namespace kedge {
namespace {

constexpr std::string_view kJson = "application/json";

std::string path_of(std::string_view name) {
  return "/v1/registry/" + escaped(name);
}
std::string path_of(std::string_view name, std::int64_t version) {
  return fmt::format("{}/versions/{}", path_of(name), version);
}
std::string alias_path(std::string_view name, std::string_view alias) {
  return fmt::format("{}/aliases/{}", path_of(name), escaped(alias));
}

std::string page_query(std::int64_t size, std::string_view token) {
  return token.empty() ? fmt::format("?pageSize={}", size)
                       : fmt::format("?pageSize={}&pageToken={}", size, escaped(token));
}

template <class Answer, class Body>
Answer send(Transport& transport, const char* method, const std::string& path, const Body& body) {
  return schema::from_json<Answer>(transport.exchange(method, path, schema::to_json(body), kJson, kJson).body);
}

}   // namespace

schema::RegisteredModelPage Registry::list(std::int64_t page_size, std::string_view page_token) const {
  return schema::from_json<schema::RegisteredModelPage>(
      transport_->get("/v1/registry" + page_query(page_size, page_token)).body);
}

schema::RegisteredModel Registry::find(std::string_view name) const {
  return schema::from_json<schema::RegisteredModel>(transport_->get(path_of(name)).body);
}

schema::ModelVersionPage Registry::versions(std::string_view name, std::int64_t page_size,
                                            std::string_view page_token) const {
  return schema::from_json<schema::ModelVersionPage>(
      transport_->get(path_of(name) + "/versions" + page_query(page_size, page_token)).body);
}

schema::ModelVersion Registry::version(std::string_view name, std::int64_t version) const {
  return schema::from_json<schema::ModelVersion>(transport_->get(path_of(name, version)).body);
}

schema::ModelVersion Registry::alias(std::string_view name, std::string_view alias) const {
  return schema::from_json<schema::ModelVersion>(transport_->get(alias_path(name, alias)).body);
}

// The same model gets the same version, so the call may be repeated.
schema::ModelVersion Registry::add(std::string_view name, const schema::NewModelVersion& version) const {
  return schema::from_json<schema::ModelVersion>(
      transport_->post(path_of(name) + "/versions", schema::to_json(version)).body);
}

schema::ModelVersion Registry::set_alias(std::string_view name, std::string_view alias, std::int64_t version) const {
  return send<schema::ModelVersion>(*transport_, "PUT", alias_path(name, alias), schema::AliasTarget{version});
}

void Registry::remove_alias(std::string_view name, std::string_view alias) const {
  transport_->exchange("DELETE", alias_path(name, alias), {}, {}, kJson);
}

schema::RegisteredModel Registry::edit(std::string_view name, const schema::RegistryEdit& edit) const {
  return send<schema::RegisteredModel>(*transport_, "PATCH", path_of(name), edit);
}

schema::ModelVersion Registry::edit(std::string_view name, std::int64_t version,
                                    const schema::RegistryEdit& edit) const {
  return send<schema::ModelVersion>(*transport_, "PATCH", path_of(name, version), edit);
}

void Registry::remove_version(std::string_view name, std::int64_t version) const {
  transport_->exchange("DELETE", path_of(name, version), {}, {}, kJson);
}

void Registry::remove(std::string_view name) const {
  transport_->exchange("DELETE", path_of(name), {}, {}, kJson);
}

}   // namespace kedge
