// /livez and /readyz: for load balancers and container engines.
#include "server/api/answer.h"
#include "server/api/api.h"

namespace kedge::server::api {

// The loop runs. Uses neither disk nor device.
awaitable<Response> get_livez(const Api&, Request) {
  co_return json_answer(200, R"({"status":"ok"})");
}

awaitable<Response> get_readyz(const Api& api, Request) {
  if (const std::string reason = api.jobs.unready_reason(); !reason.empty())
    throw schema::Error(schema::ErrorCode::kUnavailable, "the server accepts no jobs now: " + reason);
  co_return json_answer(200, R"({"status":"ready"})");
}

}  // namespace kedge::server::api
