// What the handlers work on, and the list of routes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schemas/catalogue.h"
#include "server/api/answer_cache.h"
#include "server/api/check_desk.h"
#include "server/api/shared_reads.h"
#include "server/api/stream_counts.h"
#include "server/api/tenant_threads.h"
#include "server/data/uploads.h"
#include "server/http/message.h"
#include "server/http/peer.h"
#include "server/http/router.h"
#include "server/jobs/job_service.h"
#include "server/models/models.h"

namespace kedge::server::api {

class ClusterDesk;

// A token as it is shown: without what would give access.
struct TokenInfo {
  std::string id, tenant, name;
  bool read = false, submit = false, admin = false;
  std::int64_t created = 0, expires = 0;   // seconds since 1970; expires 0: never
  bool revoked = false;
};

// Outlives the server that it is given to. `info` is filled in with the devices at each request.
struct Api {
  JobService& jobs;
  schema::ServerInfo info;
  schema::Catalogue catalogue;
  std::chrono::milliseconds heartbeat{15'000};       // of event streams in which nothing happens
  Models* models = nullptr;                          // null: none are kept
  ModelRegistry* registry = nullptr;                 // null: models have no names, only ids
  StreamCounts* streams = nullptr;                   // null: not counted, and no bound
  std::unique_ptr<SharedReads> reads = std::make_unique<SharedReads>();   // of event streams
  std::unique_ptr<AnswerCache> answers = std::make_unique<AnswerCache>();   // about jobs that have ended
  Uploads* uploads = nullptr;                        // null: none are taken
  CheckDesk* checks = nullptr;                       // where long checks of jobs are done; null: where all that may block is done
  ClusterDesk* cluster = nullptr;   // where the ranks of the device "cluster" are checked; null: it has none
  TenantThreads* previews = nullptr;                 // null: none are made
  TenantThreads* tables = nullptr;                   // where tables become Parquet or Arrow; null: they do not
  std::filesystem::path scratch = {};   // for files that answers are made of; what ends with .part is removed at start
  http::net::thread_pool* upload_threads = nullptr;  // where uploads are parsed; null: where all that may block is done
  std::function<std::vector<TokenInfo>()> tokens;    // all; called by any thread; null: this server knows of none
  // Both in Prometheus' text format; may be empty. `metrics` for this caller, on the loop's thread; `service_metrics` where it may
  // take its time.
  std::function<std::string(const http::Caller& caller)> metrics;
  std::function<std::string()> service_metrics;
};

using http::Request;
using http::Response;
using http::net::awaitable;

// What answers a route: in the file of its resource, declared in routes.cc beside its row.
using Handler = awaitable<Response>(const Api& api, Request request);

// The routes refer to `api`.
std::vector<http::Route> routes(const Api& api);

}  // namespace kedge::server::api
