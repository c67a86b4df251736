// /v1/models and the artifacts of jobs: list, show, delete, download, upload, predict.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "crypto/digest.h"
#include "crypto/random.h"
#include "engine/core/npy.h"
#include "engine/faults/fail_point.h"
#include "engine/version.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/arrow_answer.h"
#include "server/api/file_answer.h"
#include "server/api/model_answer.h"
#include "server/api/ownership.h"
#include "server/http/accept.h"
#include "server/http/peer.h"

namespace kedge::server::api {
namespace {

namespace fs = std::filesystem;
using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kCsv = "text/csv", kNpy = "application/x-npy", kModel = "application/vnd.kedge.model",
                           kOpenModel = "application/vnd.kedge.model+zip", kBytes = "application/octet-stream";

Models& models_of(const Api& api) {
  if (!api.models) throw Error(ErrorCode::kNotFound, "this server keeps no models");
  return *api.models;
}

// The id of the model that the path names, when the caller may see it.
std::string named_model(const Api& api, const Request& request) {
  models_of(api);
  return resolve_model(api, request.caller, request.capture("id"));
}

std::string_view media_type_of(std::string_view name) {
  return name.ends_with(".csv") ? kCsv : name.ends_with(".npy") ? kNpy : kBytes;
}

// The same artifact gives the same bytes in a form, by the same version.
std::string etag_of_form(const fs::path& artifact, std::string_view media_type) {
  const std::string etag = etag_of(artifact);
  if (etag.empty()) throw Error(ErrorCode::kNotFound, "there is no such artifact any more");
  return fmt::format("{}{}-{}\"", etag.substr(0, etag.size() - 1), arrow_ending(*arrow_form(media_type)), kVersion);
}

// As before predictions had a queue: a thread waits. For the control of the test that counts on the contrary.
template <class Answer, class Start>
awaitable<Answer> wait_on_a_thread(std::shared_ptr<http::Peer> peer, Start start) {
  auto work = [&] {
    std::promise<Answer> promise;
    const std::shared_ptr<void> handle = start([&promise](Answer answer, std::exception_ptr error) {
      error ? promise.set_exception(std::move(error)) : promise.set_value(std::move(answer));
    });
    return promise.get_future().get();
  };
  co_return co_await peer->offload(work);
}

awaitable<Response> ask(const Api& api, Request request, std::string output) {
  const std::string_view type = request.field("Content-Type");
  if (!http::is_media_type(type, kJson) && !http::is_media_type(type, kCsv) && !http::is_media_type(type, kNpy))
    throw Error(ErrorCode::kUnsupportedMediaType, fmt::format("Content-Type is '{}', must be {}, {} or {}", type, kJson, kCsv, kNpy), "Content-Type");
  const std::string_view accept = negotiate_table(request, {kJson, kCsv, kNpy});
  const std::optional<engine::ArrowForm> form = arrow_form(accept);
  std::string model = api.models ? known_model(api, request.caller, request.capture("id")) : std::string();
  if (model.empty()) {
    auto find = [&] { return named_model(api, request); };
    model = co_await request.peer->offload(find);
  }
  ModelQuestion question{.model = std::move(model),
                         .output = std::move(output),
                         .content_type = std::string(type),
                         .body = std::move(request.body),
                         .accept = std::string(form ? engine::kNamedNpy : accept),
                         .tenant = request.caller.tenant};
  auto start = [&](const Models::Answered& answered) { return models_of(api).ask(std::move(question), answered); };
  Response response;
  if (KEDGE_CONTROL("predict-on-threads"))
    response.body = co_await wait_on_a_thread<std::string>(request.peer, start);
  else
    response.body = co_await wait_for<std::string>(request.peer, start);
  response.content_type = accept;
  if (!form) co_return response;
  AnsweredTable table{
      .name = "the answer", .media_type = std::string(engine::kNamedNpy), .body = std::move(response.body)};
  awaitable<std::shared_ptr<OpenFile>> making =
      made_of_table(api, request.peer, request.caller.tenant, std::move(table), *form);
  const std::shared_ptr<OpenFile> made = co_await std::move(making);
  auto open = [&] { return body_of_file(request, made->path, accept); };
  co_return co_await request.peer->offload(open);
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
  const auto tenant = request.caller.admin ? std::nullopt : std::optional(request.caller.tenant);
  auto work = [&] { return answer(request, 200, models_of(api).list(page_size, token.value_or(""), tenant)); };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> get_model(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] { return models_of(api).find(named_model(api, request)); };
  const schema::ModelInfo model = co_await request.peer->offload(work);
  co_return answer(request, 200, model);
}

awaitable<Response> delete_model(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] { return models_of(api).remove(named_model(api, request)), 0; };
  co_await request.peer->offload(work);
  Response response;
  response.status = 204;
  co_return response;
}

awaitable<Response> download_model(const Api& api, Request request) {
  check_query(request, {});
  const bool is_open = http::choose_media_type(request.field("Accept"), {kModel, kBytes, kOpenModel}) == kOpenModel;
  auto work = [&] {
    Models& models = models_of(api);
    const std::string id = named_model(api, request);
    if (is_open) {
      const auto file = models.open_form(id);   // read from the open file once it is removed
      return file_answer(request, file->path, kOpenModel, id + ".zip");
    }
    Response response = file_answer(request, models.path(id), kModel, id + ".kedge");
    if (const std::string sha256 = models.find(id).sha256; !sha256.empty())
      response.fields.emplace_back("Repr-Digest", digest_field(sha256));
    return response;
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> upload_model(const Api& api, Request request) {
  check_query(request, {});
  const std::string_view type = request.field("Content-Type");
  // The content decides what it is. text/plain is not taken, for pages of other sites may send that.
  constexpr std::array<std::string_view, 5> kTypes{kModel, kOpenModel, kBytes, "application/json",
                                                   "application/ubjson"};
  if (std::ranges::none_of(kTypes, [&](std::string_view known) { return http::is_media_type(type, known); }))
    throw Error(ErrorCode::kUnsupportedMediaType,
                fmt::format("Content-Type is '{}', must be one of {}", type, fmt::join(kTypes, ", ")), "Content-Type");
  std::unique_ptr<StagedModel> staged;
  auto stage = [&] {
    check_content_digest(request);
    staged = models_of(api).stage(request.body, request.caller.tenant);
  };
  co_await request.peer->offload(stage);
  request.body = std::string();
  auto start = [&](const Models::Loaded& loaded) { return models_of(api).load(*staged, request.caller.tenant, loaded); };
  schema::ModelInfo loaded = co_await wait_for<schema::ModelInfo>(request.peer, start);
  auto add = [&] { return models_of(api).add(*staged, std::move(loaded), request.caller.tenant); };
  const schema::ModelInfo model = co_await request.peer->offload(add);
  Response response = answer(request, 201, model);
  response.fields.emplace_back("Location", "/v1/models/" + model.id);
  co_return response;
}

awaitable<Response> predict_rows(const Api& api, Request request) {
  check_query(request, {"output"});
  std::string output(request.query_value("output").value_or("predict"));
  constexpr std::array<std::string_view, 6> kOutputs{"predict",       "predict_proba", "decision_function",
                                                     "score_samples", "contributions", "interactions"};
  if (std::ranges::find(kOutputs, output) == kOutputs.end())
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("output is '{}', must be one of {}", output, fmt::join(kOutputs, ", ")), "output");
  co_return co_await ask(api, std::move(request), std::move(output));
}

awaitable<Response> transform_rows(const Api& api, Request request) {
  check_query(request, {});
  co_return co_await ask(api, std::move(request), "transform");
}

awaitable<Response> get_serving(const Api& api, Request request) {
  check_query(request, {});
  negotiate(request, {kJson});
  auto work = [&] { return to_value(models_of(api).serving(named_model(api, request))); };
  const schema::ValueMap settings = co_await request.peer->offload(work);
  co_return json_answer(200, schema::value_to_json(settings));
}

// A page of another site cannot send JSON without asking first.
awaitable<Response> set_serving(const Api& api, Request request) {
  check_query(request, {});
  const std::string_view type = request.field("Content-Type");
  if (!http::is_media_type(type, kJson))
    throw Error(ErrorCode::kUnsupportedMediaType, fmt::format("Content-Type is '{}', must be {}", type, kJson),
                "Content-Type");
  negotiate(request, {kJson});
  const ServingSettings settings = serving_settings_of(request.body);
  auto work = [&] {
    const std::string model = named_model(api, request);
    models_of(api).set_serving(model, settings);
    return to_value(models_of(api).serving(model));
  };
  const schema::ValueMap now = co_await request.peer->offload(work);
  co_return json_answer(200, schema::value_to_json(now));
}

awaitable<Response> get_prediction_log(const Api& api, Request request) {
  check_query(request, {});
  negotiate(request, {kNdjson});
  auto work = [&] { return models_of(api).log(named_model(api, request)); };
  Response response;
  response.body = co_await request.peer->offload(work);
  response.content_type = kNdjson;
  co_return response;
}

awaitable<Response> get_drift(const Api& api, Request request) {
  check_query(request, {});
  negotiate(request, {kJson, kCapnp});
  auto find = [&] { return models_of(api).find(named_model(api, request)); };
  schema::ModelInfo model = co_await request.peer->offload(find);
  auto start = [&](const Models::Drifted& drifted) {
    return models_of(api).drift(std::move(model), request.caller.tenant, drifted);
  };
  const schema::ModelDrift drift = co_await wait_for<schema::ModelDrift>(request.peer, start);
  co_return answer(request, 200, drift);
}

awaitable<Response> reset_drift(const Api& api, Request request) {
  check_query(request, {});
  auto work = [&] { return models_of(api).reset_drift(named_model(api, request)), 0; };
  co_await request.peer->offload(work);
  Response response;
  response.status = 204;
  co_return response;
}

awaitable<Response> get_artifact(const Api& api, Request request) {
  check_query(request, {});
  const std::string job(request.capture("id")), name(request.capture("name"));
  fs::path file;
  std::string_view type;
  auto work = [&]() -> std::optional<Response> {
    check_owner(api, request.caller, job);
    file = models_of(api).artifact(job, name);
    const std::string_view own = media_type_of(name);
    type = own == kBytes ? negotiate(request, {own}) : negotiate_table(request, {own, kBytes});
    if (arrow_form(type)) return unchanged(request, etag_of_form(file, type));
    return file_answer(request, file, type, name);
  };
  if (std::optional<Response> response = co_await request.peer->offload(work)) co_return std::move(*response);
  AnsweredTable table{.name = name, .media_type = std::string(media_type_of(name)), .file = file};
  awaitable<std::shared_ptr<OpenFile>> making =
      made_of_table(api, request.peer, request.caller.tenant, std::move(table), *arrow_form(type));
  const std::shared_ptr<OpenFile> made = co_await std::move(making);
  const std::string made_name = fs::path(name).stem().string() + std::string(arrow_ending(*arrow_form(type)));
  auto open = [&] { return file_answer(request, made->path, type, made_name, etag_of_form(file, type)); };
  co_return co_await request.peer->offload(open);
}

}  // namespace kedge::server::api
