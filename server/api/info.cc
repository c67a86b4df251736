// / and /v1/info: what this server is and has.
#include "server/api/answer.h"
#include "server/api/handlers.h"

namespace kedge::server::api {

awaitable<Response> get_info(const Api& api, Request request) {
  check_query(request, {});
  schema::ServerInfo info = api.info;
  info.devices = api.jobs.devices();
  co_return answer(request, 200, info);
}

awaitable<Response> get_index(const Api& api, Request request) {
  check_query(request, {});
  schema::ValueList calls;
  for (const http::Route& route : routes(api))
    calls.emplace_back(std::string(route.method) + " " + std::string(route.path));
  schema::ValueMap index;
  index.emplace_back("name", api.info.name);
  index.emplace_back("version", api.info.version);
  index.emplace_back("calls", std::move(calls));
  co_return json_answer(200, schema::value_to_json(schema::Value(std::move(index))));
}

}  // namespace kedge::server::api
