// /v1/estimators: the catalogue.
#include <algorithm>
#include <vector>

#include "engine/core/estimator_names.h"
#include "engine/core/params.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/pages.h"

namespace kedge::server::api {
namespace {

constexpr std::string_view kJsonSchema = "application/schema+json";

}   // namespace

const schema::EstimatorInfo& find_estimator(const schema::Catalogue& catalogue, std::string_view name) {
  std::vector<engine::EstimatorName> names;
  for (const auto& estimator : catalogue.estimators) {
    if (estimator.name == name) return estimator;
    names.push_back({estimator.name, estimator.kind});
  }
  throw schema::Error(schema::ErrorCode::kNotFound, "there is no estimator " + engine::unknown_estimator(name, names));
}

awaitable<Response> list_estimators(const Api& api, Request request) {
  check_query(request, {});
  co_return answer(request, 200, api.catalogue);
}

awaitable<Response> get_estimator(const Api& api, Request request) {
  check_query(request, {});
  const schema::EstimatorInfo& info = find_estimator(api.catalogue, request.capture("name"));
  if (negotiate(request, {kJson, kCapnp, kJsonSchema}) != kJsonSchema) co_return answer(request, 200, info);
  Response response = json_answer(200, schema::value_to_json(engine::json_schema(info)));
  response.content_type = kJsonSchema;
  co_return response;
}

}  // namespace kedge::server::api
