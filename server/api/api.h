// What the handlers work on, and the list of routes.
#pragma once

#include <chrono>
#include <vector>

#include "schemas/catalogue.h"
#include "server/http/router.h"
#include "server/jobs/job_service.h"
#include "server/models/models.h"

namespace kedge::server::api {

// Outlives the server that it is given to. `info` is filled in with the devices at each request.
struct Api {
  JobService& jobs;
  schema::ServerInfo info;
  schema::Catalogue catalogue;
  std::chrono::milliseconds heartbeat{15'000};  // of event streams in which nothing happens
  Models* models = nullptr;                     // null: none are kept
};

// The routes refer to `api`.
std::vector<http::Route> routes(const Api& api);

}  // namespace kedge::server::api
