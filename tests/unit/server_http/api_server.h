// The REST API on a free port, over the fake job service.
#pragma once

#include <gtest/gtest.h>

#include "schemas/codec.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "tests/support/fake_job_service.h"
#include "tests/support/http_client.h"
#include "tests/unit/server_http/running_server.h"

namespace kedge::tests {

inline constexpr std::string_view kSpec =
    R"({"dataset":{"builtin":"iris"},"pipeline":[{"estimator":"StandardScaler"},{"estimator":"GaussianNB"}],"task":{"crossValidate":{"cv":5}}})";
inline constexpr std::string_view kJsonField = "Content-Type: application/json\r\n";

struct ApiServer : testing::Test {
  HttpReply submit(std::string_view fields = {}, std::string_view query = {}) {
    return client.request("POST", "/v1/jobs" + std::string(query), kSpec,
                          std::string(kJsonField) + std::string(fields));
  }
  std::string submit_id() { return schema::from_json<schema::Job>(submit().body).id; }
  void succeed(const std::string& id) {
    append_event(jobs, id, schema::StateEvent{.state = schema::JobState::kRunning});
    append_event(jobs, id, schema::ResultEvent{.result = {.nSamples = 150}});
    append_event(jobs, id, schema::StateEvent{.state = schema::JobState::kSucceeded});
  }
  void fail(const std::string& id, schema::Error error) {
    append_event(jobs, id,
                 schema::StateEvent{.state = schema::JobState::kFailed,
                                    .reason = std::string(schema::error_code_name(error.code)),
                                    .error = error});
  }

  static std::vector<schema::ParamForm> every_form() {
    using Type = schema::ParamForm::Type;
    std::vector<schema::ParamForm> forms;
    for (Type type : {Type::kNull, Type::kBoolean, Type::kInteger, Type::kNumber, Type::kString,
                      Type::kObject, Type::kArray})
      forms.push_back({.type = type});
    return forms;
  }

  server::JobService jobs{server::JobServiceOptions{}};
  server::api::Api api{
      jobs,
      {.version = "1.2.3", .builtinDatasets = {"iris"}, .scorers = {"accuracy"}},
      {.estimators = {{.name = "GaussianNB",
                       .kind = "classifier",
                       .family = "naive_bayes",
                       .doc = "Naive Bayes.",
                       .params = {{.name = "anything", .doc = "Takes every form.", .forms = every_form()}}},
                      {.name = "PCA",
                       .kind = "transformer",
                       .family = "decomposition",
                       .doc = "Principal components."}}},
      std::chrono::milliseconds(100)};
  RunningServer server{{}, server::api::routes(api)};
  HttpConnection client{server.port()};
};

}  // namespace kedge::tests
