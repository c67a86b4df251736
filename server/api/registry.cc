// /v1/registry: names, versions, aliases and tags of models, in MLflow's words.
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "schemas/registry.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/ownership.h"
#include "server/http/accept.h"
#include "server/http/peer.h"

namespace kedge::server::api {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::int64_t kPageSize = 50, kMostPageSize = 500;
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

ModelRegistry& registry_of(const Api& api) {
  if (!api.registry) throw Error(ErrorCode::kNotFound, "this server keeps no registry of models");
  return *api.registry;
}

// The body, which is JSON. None at all is refused, too: that is what a page of another site may send without asking.
template <class T>
T body_of(const Request& request) {
  const std::string_view type = request.field("Content-Type");
  if (!http::is_media_type(type, kJson))
    throw Error(ErrorCode::kUnsupportedMediaType, fmt::format("Content-Type is '{}', must be {}", type, kJson),
                "Content-Type");
  return schema::from_json<T>(request.body);
}

std::int64_t page_size_of(const Request& request) {
  const auto size = request.query_value("pageSize");
  return size ? parse_integer(*size, 1, kMostPageSize, "pageSize") : kPageSize;
}

std::int64_t version_of(const Request& request) {
  const std::string_view text = request.capture("version");
  if (text.find_first_not_of("0123456789") != std::string_view::npos || text.empty() || text.size() > 18)
    throw Error(ErrorCode::kNotFound,
                fmt::format("the registered model '{}' has no version '{}'", request.capture("name"), text));
  return parse_integer(text, 0, kHighest, "version");
}

Response nothing() {
  Response response;
  response.status = 204;
  return response;
}

}   // namespace

awaitable<Response> list_registry(const Api& api, Request request) {
  check_query(request, {"pageSize", "pageToken"});
  const std::int64_t size = page_size_of(request);
  const std::string token(request.query_value("pageToken").value_or(""));
  auto work = [&] { return answer(request, 200, registry_of(api).list(request.caller.tenant, size, token)); };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> get_registered_model(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] {
    return answer(request, 200, registry_of(api).find(request.caller.tenant, request.capture("name")));
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> edit_registered_model(const Api& api, Request request) {
  check_query(request, {});
  const auto edit = body_of<schema::RegistryEdit>(request);
  auto work = [&] {
    return answer(request, 200, registry_of(api).edit(request.caller.tenant, request.capture("name"), edit));
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> delete_registered_model(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] { return registry_of(api).remove(request.caller.tenant, request.capture("name")), nothing(); };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> list_model_versions(const Api& api, Request request) {
  check_query(request, {"pageSize", "pageToken"});
  const std::int64_t size = page_size_of(request);
  const auto token = request.query_value("pageToken");
  const std::int64_t before = token && !token->empty() ? parse_integer(*token, 0, kHighest, "pageToken") : 0;
  auto work = [&] {
    return answer(request, 200,
                  registry_of(api).versions(request.caller.tenant, request.capture("name"), size, before));
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> register_model(const Api& api, Request request) {
  check_query(request, {});
  auto version = body_of<schema::NewModelVersion>(request);
  auto work = [&] {
    version.model = resolve_model(api, request.caller, version.model, "model");
    const auto added = registry_of(api).add(request.caller.tenant, request.capture("name"), std::move(version));
    Response response = answer(request, added.is_new ? 201 : 200, added.version);
    response.fields.emplace_back("Location",
                                 fmt::format("/v1/registry/{}/versions/{}", added.version.name, added.version.version));
    return response;
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> get_model_version(const Api& api, Request request) {
  check_query(request, {});
  const std::int64_t version = version_of(request);
  auto work = [&] {
    return answer(request, 200, registry_of(api).version(request.caller.tenant, request.capture("name"), version));
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> edit_model_version(const Api& api, Request request) {
  check_query(request, {});
  const std::int64_t version = version_of(request);
  const auto edit = body_of<schema::RegistryEdit>(request);
  auto work = [&] {
    return answer(request, 200,
                  registry_of(api).edit_version(request.caller.tenant, request.capture("name"), version, edit));
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> delete_model_version(const Api& api, Request request) {
  check_query(request, {});
  const std::int64_t version = version_of(request);
  auto work = [&] {
    return registry_of(api).remove_version(request.caller.tenant, request.capture("name"), version), nothing();
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> get_model_alias(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] {
    return answer(request, 200,
                  registry_of(api).alias(request.caller.tenant, request.capture("name"), request.capture("alias")));
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> set_model_alias(const Api& api, Request request) {
  check_query(request, {});
  const auto target = body_of<schema::AliasTarget>(request);
  auto work = [&] {
    return answer(request, 200,
                  registry_of(api).set_alias(request.caller.tenant, request.capture("name"), request.capture("alias"),
                                             target.version));
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> delete_model_alias(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] {
    registry_of(api).remove_alias(request.caller.tenant, request.capture("name"), request.capture("alias"));
    return nothing();
  };
  co_return co_await request.peer->offload(work);
}

}   // namespace kedge::server::api
