// /metrics and /openapi.json: texts that the server has as a whole.
#include "server/api/answer.h"
#include "server/api/handlers.h"
#include "server/api/openapi.h"

namespace kedge::server::api {

awaitable<Response> get_metrics(const Api& api, Request request) {
  check_query(request, {});
  Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  if (api.metrics) response.body = api.metrics();
  co_return response;
}

awaitable<Response> get_openapi(const Api&, Request request) {
  check_query(request, {});
  Response response;
  response.content_type = kJson;
  response.body = openapi_json();
  co_return response;
}

}  // namespace kedge::server::api
