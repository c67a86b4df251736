// /metrics and /openapi.json: texts that the server has as a whole.
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/openapi.h"
#include "server/http/peer.h"

namespace kedge::server::api {

awaitable<Response> get_metrics(const Api& api, Request request) {
  check_query(request, {});
  Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  if (api.metrics) response.body = api.metrics(request.caller);
  auto work = [&] { return api.service_metrics ? api.service_metrics() : std::string(); };
  response.body += co_await request.peer->offload(work);
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
