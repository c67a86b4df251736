// Every call that the server offers, one row each.
#include <array>

#include "server/api/handlers.h"

namespace kedge::server::api {
namespace {

struct Row {
  std::string_view method;
  std::string_view path;
  awaitable<Response> (*handler)(const Api&, Request);
};

constexpr std::array kRows{
    Row{"GET", "/", get_index},
    Row{"GET", "/livez", get_livez},
    Row{"GET", "/readyz", get_readyz},
    Row{"GET", "/v1/info", get_info},
    Row{"GET", "/v1/estimators", list_estimators},
    Row{"GET", "/v1/estimators/{name}", get_estimator},
    Row{"POST", "/v1/jobs", create_job},
    Row{"GET", "/v1/jobs", list_jobs},
    Row{"GET", "/v1/jobs/{id}", get_job},
    Row{"DELETE", "/v1/jobs/{id}", cancel_job},
    Row{"POST", "/v1/jobs/{id}/cancel", cancel_job},
    Row{"GET", "/v1/jobs/{id}/events", get_events},
    Row{"GET", "/v1/jobs/{id}/result", get_result},
    Row{"GET", "/v1/events", get_events_of_jobs},
};

}  // namespace

std::vector<http::Route> routes(const Api& api) {
  std::vector<http::Route> routes;
  for (const Row& row : kRows)
    routes.push_back({row.method, row.path, [&api, handler = row.handler](Request request) {
                        return handler(api, std::move(request));
                      }});
  return routes;
}

}  // namespace kedge::server::api
