// /v2: the Open Inference Protocol, as tritonclient, kserve's client and curl speak it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "schemas/registry.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/model_answer.h"
#include "server/api/ownership.h"
#include "server/http/peer.h"
#include "server/models/inference.h"

namespace kedge::server::api {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;
using schema::ValueList;
using schema::ValueMap;

constexpr std::string_view kHeadLength = "Inference-Header-Content-Length", kBytes = "application/octet-stream";
constexpr std::size_t kLargeBody = 256 << 10;   // takes longer to read than other connections should wait
constexpr std::int64_t kPage = 500;

Models& models_of(const Api& api) {
  if (!api.models) throw Error(ErrorCode::kNotFound, "this server keeps no models");
  return *api.models;
}

// What the path names: a reference to a model, and its version if the path says it.
struct Named {
  std::string reference, version;
};

Named named(const Request& request) {
  std::string model(request.capture("model"));
  const std::string version(request.capture("version"));
  const bool is_id = model.starts_with("mdl_");
  if (version.empty()) {
    const std::size_t slash = model.find('/');
    return {model, is_id ? "1" : slash == std::string::npos ? "" : model.substr(slash + 1)};
  }
  if (!is_id) return {fmt::format("{}/{}", model, version), version};
  if (version != "1")
    throw Error(ErrorCode::kNotFound, fmt::format("the model '{}' has the version 1 alone, not '{}'", model, version));
  return {std::move(model), version};
}

std::shared_ptr<const OwnedModel> look_up(const Api& api, const Request& request, const std::string& reference) {
  models_of(api);
  const std::string id = resolve_model(api, request.caller, reference);
  std::shared_ptr<const OwnedModel> model = api.jobs.owned_model(id);
  if (!model) throw Error(ErrorCode::kNotFound, fmt::format("there is no model '{}'", reference));
  return model;
}

awaitable<std::shared_ptr<const OwnedModel>> find(const Api& api, const Request& request, std::string reference) {
  if (const std::string id = api.models ? known_model(api, request.caller, reference) : std::string(); !id.empty())
    if (std::shared_ptr<const OwnedModel> model = api.jobs.known_model(id)) co_return model;
  auto work = [&] { return look_up(api, request, reference); };
  co_return co_await request.peer->offload(work);
}

// Others predict whole numbers: clusters, outliers, classes.
bool is_regressor(const Api& api, const schema::ModelInfo& model) {
  if (model.pipeline.empty()) return true;
  const auto& estimators = api.catalogue.estimators;
  const auto found = std::ranges::find(estimators, model.pipeline.back().estimator, &schema::EstimatorInfo::name);
  return found == estimators.end() || found->kind == "regressor";   // an imported model is in no catalogue
}

// That a name or an alias means now; "1" of an id.
std::string version_of(const Api& api, const Request& request, const Named& name) {
  if (!name.version.empty() || !api.registry) return name.version;
  const auto meaning = api.registry->known(request.caller.tenant, name.reference);
  return meaning && meaning->version > 0 ? std::to_string(meaning->version) : "";
}

ValueList forms_value(const std::vector<TensorForm>& forms) {
  ValueList list;
  for (const TensorForm& form : forms)
    list.emplace_back(ValueMap{
        {"name", form.name}, {"datatype", form.datatype}, {"shape", ValueList(form.shape.begin(), form.shape.end())}});
  return list;
}

Response json(const ValueMap& map) {
  return json_answer(200, schema::value_to_json(map));
}

// Of a registered name all versions, else the one there is.
ValueList versions_of(const Api& api, const Request& request, const Named& name) {
  ValueList versions;
  const std::string registered = name.reference.substr(0, name.reference.find_first_of("@/"));
  if (!api.registry || registered.starts_with("mdl_")) return ValueList{name.version};
  for (const schema::ModelVersion& version :
       api.registry->versions(request.caller.tenant, registered, kPage, 0).versions)
    versions.emplace_back(std::to_string(version.version));
  std::ranges::reverse(versions);
  return versions;
}

std::optional<std::size_t> head_length(const Request& request) {
  const std::string_view text = request.field(kHeadLength);
  if (text.empty()) return std::nullopt;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(ErrorCode::kInvalidValue, fmt::format("{} is '{}', must be a number of bytes", kHeadLength, text),
                std::string(kHeadLength));
  return length;
}

struct Prepared {
  InferenceRequest request;
  InferenceRows rows;
  std::vector<TensorForm> outputs;   // that are wanted
  std::vector<bool> is_binary;
};

Prepared prepare(const Api& api, const Request& request, const schema::ModelInfo& model) {
  Prepared prepared{.request = parse_inference(request.body, head_length(request), model)};
  const std::vector<TensorForm> known = outputs_of(model, is_regressor(api, model));
  if (prepared.request.outputs.empty() && !known.empty())
    prepared.request.outputs.push_back({known.front().name, prepared.request.is_binary});
  for (std::size_t i = 0; i < prepared.request.outputs.size(); ++i) {
    const WantedOutput& wanted = prepared.request.outputs[i];
    const auto found = std::ranges::find(known, wanted.name, &TensorForm::name);
    if (found == known.end())
      throw Error(ErrorCode::kInvalidValue,
                  fmt::format("there is no output '{}', the model has {}", wanted.name, fmt::join(model.outputs, ", ")),
                  fmt::format("outputs[{}].name", i));
    prepared.outputs.push_back(*found);
    prepared.is_binary.push_back(wanted.is_binary);
  }
  prepared.rows = rows_of_inference(prepared.request, model);
  return prepared;
}

}   // namespace

awaitable<Response> inference_live(const Api&, Request) {
  co_return json({{"live", true}});
}

// kserve's client reads `ready`, the specification says `live`, tritonclient looks at the status.
awaitable<Response> inference_ready(const Api& api, Request) {
  const bool is_ready = api.jobs.unready_reason().empty();
  Response response = json({{"live", true}, {"ready", is_ready}});
  if (!is_ready) response.status = 503;
  co_return response;
}

awaitable<Response> inference_server(const Api& api, Request) {
  co_return json({{"name", "kedge"},
                  {"version", api.info.version},
                  {"extensions", ValueList{"binary_tensor_data", "model_repository", "statistics"}}});
}

awaitable<Response> inference_model(const Api& api, Request request) {
  const Named name = named(request);
  auto work = [&] {
    const std::shared_ptr<const OwnedModel> model = look_up(api, request, name.reference);
    return json({{"name", std::string(request.capture("model"))},
                 {"versions", versions_of(api, request, name)},
                 {"platform", "kedge_pipeline"},
                 {"inputs", forms_value(inputs_of(model->info))},
                 {"outputs", forms_value(outputs_of(model->info, is_regressor(api, model->info)))}});
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> inference_model_ready(const Api& api, Request request) {
  const Named name = named(request);
  auto work = [&] {
    look_up(api, request, name.reference);
    return json({{"name", std::string(request.capture("model"))}, {"ready", true}});
  };
  co_return co_await request.peer->offload(work);
}

awaitable<Response> infer(const Api& api, Request request) {
  const Named name = named(request);
  const std::shared_ptr<const OwnedModel> model = co_await find(api, request, name.reference);
  auto read = [&] { return prepare(api, request, model->info); };
  Prepared prepared;
  if (request.body.size() > kLargeBody) {
    Prepared read_elsewhere = co_await request.peer->offload(read);
    prepared = std::move(read_elsewhere);
  } else {
    prepared = read();
  }
  request.body = std::string();
  std::vector<Tensor> outputs;
  for (const TensorForm& form : prepared.outputs) {
    const std::string_view type = answer_type_for(model->info, form.name);
    ModelQuestion question{.model = model->info.id,
                           .output = form.name,
                           .content_type = prepared.rows.content_type,
                           .body = prepared.rows.body,
                           .accept = std::string(type),
                           .tenant = request.caller.tenant};
    auto start = [&](const Models::Answered& answered) { return models_of(api).ask(std::move(question), answered); };
    const std::string answer = co_await wait_for<std::string>(request.peer, start);
    outputs.push_back(output_tensor(form, type, answer));
  }
  InferenceAnswer encoded = encode_inference(prepared.request, request.capture("model"), version_of(api, request, name),
                                             outputs, prepared.is_binary);
  Response response;
  response.content_type = encoded.head_bytes ? kBytes : kJson;
  if (encoded.head_bytes) response.fields.emplace_back(std::string(kHeadLength), std::to_string(*encoded.head_bytes));
  response.body = std::move(encoded.body);
  co_return response;
}

awaitable<Response> list_inference_models(const Api& api, Request request) {
  auto work = [&] {
    ValueList names;
    std::string token;
    do {
      if (!api.registry) break;
      const schema::RegisteredModelPage page = api.registry->list(request.caller.tenant, kPage, token);
      for (const schema::RegisteredModel& model : page.models) names.emplace_back(model.name);
      token = page.nextPageToken;
    } while (!token.empty());
    return json({{"models", std::move(names)}});
  };
  co_return co_await request.peer->offload(work);
}

// The versions of registered models. A model without a name is asked by its id.
awaitable<Response> repository_index(const Api& api, Request request) {
  auto work = [&] {
    ValueList index;
    std::string token;
    do {
      if (!api.registry) break;
      const schema::RegisteredModelPage page = api.registry->list(request.caller.tenant, kPage, token);
      for (const schema::RegisteredModel& model : page.models)
        for (const schema::ModelVersion& version :
             api.registry->versions(request.caller.tenant, model.name, kPage, 0).versions)
          index.emplace_back(ValueMap{
              {"name", model.name}, {"version", std::to_string(version.version)}, {"state", "READY"}, {"reason", ""}});
      token = page.nextPageToken;
    } while (!token.empty());
    return json_answer(200, schema::value_to_json(index));
  };
  co_return co_await request.peer->offload(work);
}

// Models are loaded when they are asked, so both only say whether there is such a model.
awaitable<Response> load_model(const Api& api, Request request) {
  auto work = [&] {
    look_up(api, request, std::string(request.capture("model")));
    return json({});
  };
  co_return co_await request.peer->offload(work);
}

// Times are in nanoseconds, as Triton has them.
awaitable<Response> inference_statistics(const Api& api, Request request) {
  const bool is_of_one = !request.capture("model").empty();
  const Named name = is_of_one ? named(request) : Named();
  auto work = [&] {
    std::vector<ModelFigures> all;
    if (is_of_one) {
      const std::string id = look_up(api, request, name.reference)->info.id;
      all.push_back(models_of(api).book().find(id).value_or(ModelFigures{.model = id}));
    } else {
      const auto tenant = request.caller.admin ? std::nullopt : std::optional(request.caller.tenant);
      all = models_of(api).book().last(kPage, tenant);
    }
    ValueList stats;
    for (const ModelFigures& figures : all) {
      const auto duration = [](auto count, double seconds) {
        return ValueMap{{"count", static_cast<std::int64_t>(count)}, {"ns", static_cast<std::int64_t>(seconds * 1e9)}};
      };
      const std::uint64_t successes = figures.requests - figures.failures;
      stats.emplace_back(
          ValueMap{{"name", is_of_one ? std::string(request.capture("model")) : figures.model},
                   {"version", is_of_one ? version_of(api, request, name) : "1"},
                   {"last_inference", figures.last_ms},
                   {"inference_count", static_cast<std::int64_t>(figures.rows)},
                   {"execution_count", static_cast<std::int64_t>(figures.executions + 0.5)},
                   {"inference_stats",
                    ValueMap{{"success", duration(successes, figures.seconds)},
                             {"fail", duration(figures.failures, figures.failed_seconds)},
                             {"queue", duration(successes, std::max(0.0, figures.seconds - figures.computed))},
                             {"compute_input", duration(successes, 0)},
                             {"compute_infer", duration(successes, figures.computed)},
                             {"compute_output", duration(successes, 0)}}},
                   {"batch_stats", ValueList()}});
    }
    return json({{"model_stats", std::move(stats)}});
  };
  co_return co_await request.peer->offload(work);
}

}   // namespace kedge::server::api
