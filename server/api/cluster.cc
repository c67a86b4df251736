// /v1/cluster/check: whether the ranks of the device "cluster" come together, are alike and reach each other fast.
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/cluster_desk.h"

namespace kedge::server::api {
namespace {

constexpr std::string_view kText = "text/plain";

}   // namespace

awaitable<Response> check_ranks(const Api& api, Request request) {
  check_query(request, {});
  const bool as_json = negotiate(request, {kJson, kText}) == kJson;
  if (!api.cluster)
    throw schema::Error(schema::ErrorCode::kDeviceUnavailable,
                        "this server has no ranks to check, see the setting cluster-ranks");
  std::string report = co_await api.cluster->report(request.peer, as_json);
  while (report.ends_with('\n')) report.pop_back();   // the answer has one
  Response response = json_answer(200, std::move(report));
  if (!as_json) response.content_type = std::string(kText) + "; charset=utf-8";
  co_return response;
}

}   // namespace kedge::server::api
