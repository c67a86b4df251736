// The handlers, one per row of routes.cc.
#pragma once

#include "server/api/api.h"
#include "server/http/message.h"

namespace kedge::server::api {

using http::Request;
using http::Response;
using http::net::awaitable;

awaitable<Response> create_job(const Api& api, Request request);
awaitable<Response> list_jobs(const Api& api, Request request);
awaitable<Response> get_job(const Api& api, Request request);
awaitable<Response> get_result(const Api& api, Request request);
awaitable<Response> cancel_job(const Api& api, Request request);
awaitable<Response> get_events(const Api& api, Request request);
awaitable<Response> get_events_of_jobs(const Api& api, Request request);
awaitable<Response> list_estimators(const Api& api, Request request);
awaitable<Response> get_estimator(const Api& api, Request request);
awaitable<Response> get_info(const Api& api, Request request);
awaitable<Response> get_index(const Api& api, Request request);
awaitable<Response> get_livez(const Api& api, Request request);
awaitable<Response> get_readyz(const Api& api, Request request);

}  // namespace kedge::server::api
