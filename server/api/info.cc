// /, /docs and /v1/info: what this server is and has.
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/pages.h"
#include "server/http/accept.h"

namespace kedge::server::api {

awaitable<Response> get_info(const Api& api, Request request) {
  check_query(request, {});
  schema::ServerInfo info = api.info;
  info.devices = api.jobs.devices();
  co_return answer(request, 200, info);
}

awaitable<Response> get_index(const Api& api, Request request) {
  check_query(request, {});
  constexpr std::string_view kHtml = "text/html";
  if (http::choose_media_type(request.field("Accept"), {kJson, kHtml}) == kHtml) co_return index_page(api.info.name, api.info.version);
  schema::ValueList calls;
  for (const http::Route& route : routes(api))
    calls.emplace_back(std::string(route.method) + " " + std::string(route.path));
  schema::ValueMap index;
  index.emplace_back("name", api.info.name);
  index.emplace_back("version", api.info.version);
  index.emplace_back("calls", std::move(calls));
  co_return json_answer(200, schema::value_to_json(schema::Value(std::move(index))));
}

awaitable<Response> get_docs(const Api&, Request request) {
  check_query(request, {});
  co_return docs_page();
}

}  // namespace kedge::server::api
