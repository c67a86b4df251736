// /v1/models and the artifacts of jobs: list, show, delete, download, upload, predict.
#include <fmt/format.h>

#include "crypto/digest.h"
#include "crypto/random.h"
#include "server/api/answer.h"
#include "server/api/file_answer.h"
#include "server/api/handlers.h"
#include "server/api/ownership.h"
#include "server/http/accept.h"
#include "server/http/peer.h"

namespace kedge::server::api {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kCsv = "text/csv", kNpy = "application/x-npy", kModel = "application/vnd.kedge.model",
                           kBytes = "application/octet-stream";

Models& models_of(const Api& api) {
  if (!api.models) throw Error(ErrorCode::kNotFound, "this server keeps no models");
  return *api.models;
}

// For the model that the path names, when the caller may see it.
Models& named_model(const Api& api, const Request& request) {
  check_model_owner(api, request.caller, request.capture("id"));
  return models_of(api);
}

std::string_view media_type_of(std::string_view name) {
  return name.ends_with(".csv") ? kCsv : name.ends_with(".npy") ? kNpy : kBytes;
}

awaitable<Response> ask(const Api& api, Request request, std::string output) {
  const std::string_view type = request.field("Content-Type");
  if (!http::is_media_type(type, kJson) && !http::is_media_type(type, kCsv) && !http::is_media_type(type, kNpy))
    throw Error(ErrorCode::kUnsupportedMediaType, fmt::format("Content-Type is '{}', must be {}, {} or {}", type, kJson, kCsv, kNpy), "Content-Type");
  const std::string_view accept = negotiate(request, {kJson, kCsv, kNpy});
  auto work = [&] { return named_model(api, request).ask(request.capture("id"), output, type, std::move(request.body), accept); };
  Response response;
  response.body = co_await request.peer->offload(work);
  response.content_type = accept;
  co_return response;
}

// "sha-256=:BASE64:", the form of the fields Content-Digest and Repr-Digest (RFC 9530).
std::string digest_field(std::string_view sha256_hex) {
  return "sha-256=:" + crypto::base64(crypto::from_hex(sha256_hex)) + ":";
}

// A body that is not what its Content-Digest says was damaged on its way.
void check_content_digest(const Request& request) {
  const std::string_view given = request.field("Content-Digest");
  if (given.find("sha-256=") == std::string_view::npos) return;   // absent, or an algorithm that servers may ignore (RFC 9530)
  const std::string is = digest_field(crypto::sha256_hex(request.body));
  if (given.find(is) == std::string_view::npos)
    throw Error(ErrorCode::kInvalidValue, fmt::format("Content-Digest is '{}', but that of the body is {}", given, is), "Content-Digest");
}

}  // namespace

awaitable<Response> list_models(const Api& api, Request request) {
  check_query(request, {"pageSize", "pageToken"});
  const auto size = request.query_value("pageSize"), token = request.query_value("pageToken");
  const std::int64_t page_size = size ? parse_integer(*size, 1, 500, "pageSize") : 50;
  auto work = [&] { return models_of(api).list(page_size, token.value_or(""), request.caller.admin ? std::nullopt : std::optional(request.caller.tenant)); };
  const schema::ModelPage page = co_await request.peer->offload(work);
  co_return answer(request, 200, page);
}

awaitable<Response> get_model(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] { return named_model(api, request).find(request.capture("id")); };
  const schema::ModelInfo model = co_await request.peer->offload(work);
  co_return answer(request, 200, model);
}

awaitable<Response> delete_model(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] { return named_model(api, request).remove(request.capture("id")), 0; };
  co_await request.peer->offload(work);
  Response response;
  response.status = 204;
  co_return response;
}

awaitable<Response> download_model(const Api& api, Request request) {
  check_query(request, {});
  const std::string id(request.capture("id"));
  auto work = [&] {
    const Models& models = named_model(api, request);
    Response response = file_answer(request, models.path(id), kModel, id + ".kedge");
    if (const std::string sha256 = models.find(id).sha256; !sha256.empty()) response.fields.emplace_back("Repr-Digest", digest_field(sha256));
    return response;
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> upload_model(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] {
    check_content_digest(request);
    return models_of(api).upload(request.body, request.caller.tenant);
  };
  const schema::ModelInfo model = co_await request.peer->offload(work);
  Response response = answer(request, 201, model);
  response.fields.emplace_back("Location", "/v1/models/" + model.id);
  co_return response;
}

awaitable<Response> predict_rows(const Api& api, Request request) {
  check_query(request, {"output"});
  std::string output(request.query_value("output").value_or("predict"));
  if (output != "predict" && output != "predict_proba" && output != "decision_function")
    throw Error(ErrorCode::kInvalidValue, fmt::format("output is '{}', must be predict, predict_proba or decision_function", output), "output");
  co_return co_await ask(api, std::move(request), std::move(output));
}

awaitable<Response> transform_rows(const Api& api, Request request) {
  check_query(request, {});
  co_return co_await ask(api, std::move(request), "transform");
}

awaitable<Response> get_artifact(const Api& api, Request request) {
  check_query(request, {});
  const std::string job(request.capture("id")), name(request.capture("name"));
  auto work = [&] {
    check_owner(api, request.caller, job);
    return file_answer(request, models_of(api).artifact(job, name), media_type_of(name), name);
  };
  co_return co_await request.peer->offload(work);
}

}  // namespace kedge::server::api
