// kedged: the server, as a list of its parts.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/memory_reserve.h"
#include "engine/estimators/catalogue.h"
#include "engine/faults/fail_point.h"
#include "engine/metrics/scorers.h"
#include "schemas/error.h"
#include "server/admin.h"
#include "server/api/api.h"
#include "server/api/cluster_desk.h"
#include "server/auth/authenticator.h"
#include "server/auth/token_store.h"
#include "server/cluster_check.h"
#include "server/config.h"
#include "server/config_stores.h"
#include "server/http/server.h"
#include "server/instruments.h"
#include "server/jobs/job_service.h"
#include "server/lease.h"
#include "server/log.h"
#include "server/observe/gpus.h"
#include "server/observe/metrics.h"
#include "server/private_directory.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

// As in sysexits.h.
constexpr int kExitConfig = 78, kExitPortBusy = 69, kExitStore = 74;

constexpr std::size_t kMemoryReserve = 4 << 20;
constexpr std::size_t kUploadThreads = 2;   // each parses with all cores

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

// Each event stream holds a descriptor; a shell's soft limit is often 1024.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Looks more often when jobs are kept for a short time.
RetentionOptions retention_options(const Config& config) {
  RetentionOptions options{.jobs = std::chrono::seconds(config.keep_jobs_s),
                           .events = std::chrono::seconds(config.keep_events_s),
                           .store_bytes = config.keep_mib << 20};
  for (const std::int64_t seconds : {config.keep_jobs_s, config.keep_events_s})
    if (seconds > 0) options.interval = std::min(options.interval, std::chrono::milliseconds(250 * seconds));
  return options;
}

ServiceLimits service_limits(const Config& config) {
  return {.tenants = {.open_jobs = config.tenant_jobs,
                      .fetches = config.tenant_fetches,
                      .bytes = config.tenant_bytes,
                      .content_bytes = static_cast<std::uint64_t>(config.tenant_content_mib) << 20,
                      .weights = config.tenant_weights},
          .deadlines = {.queue = static_cast<double>(config.queue_deadline_s),
                        .fetch = static_cast<double>(config.fetch_deadline_s),
                        .run = static_cast<double>(config.run_deadline_s)},
          .retention = retention_options(config),
          .models = {.all_bytes = config.keep_models_mib << 20, .tenant_bytes = config.tenant_models_mib << 20},
          .kept_uploads = std::chrono::seconds(config.keep_uploads_s),
          .cache_bytes = static_cast<std::uintmax_t>(config.cache_mib) << 20};
}

JobServiceOptions job_options(const Config& config, observe::Metrics& metrics) {
  JobServiceOptions options;
  options.data_dir = config.data_dir;
  options.data = {.directory = config.data_dir / "datasets",
                  .openml_url = config.openml_url,
                  .allow_fetch = config.allow_fetch,
                  .stores = read_stores(config.stores),
                  .by_tenant = config.cache_by_tenant,
                  .fetch_floor = config.fetch_floor,
                  .downloaded = [&metrics](std::string_view outcome, std::int64_t bytes, double seconds) {
                    metrics.downloaded(outcome, bytes, seconds);
                  }};
  options.worker_program = config.worker;
  options.devices = config.devices;
  options.cluster = {.ranks = config.cluster_ranks,
                     .launcher = config.cluster_launcher,
                     .device = config.cluster_device,
                     .hosts = config.cluster_hosts,
                     .key = config.cluster_key,
                     .command = config.cluster_command};
  options.limits = service_limits(config);
  options.observer = &metrics;
  options.worker_log = config.log_level != "debug" ? "off" : config.json_log ? "json" : "text";
  options.worker_memory_bytes = config.worker_memory_mib << 20;
  return options;
}

schema::ServerInfo server_info() {
  schema::ServerInfo info;
  info.version = version();
  info.builtinDatasets = DatasetCache::builtin_names();
  info.scorers = engine::scorer_names();
  return info;
}

schema::Catalogue catalogue() {
  schema::Catalogue catalogue;
  for (const auto& entry : engine::catalogue()) catalogue.estimators.push_back(entry.info);
  return catalogue;
}

auth::AuthOptions auth_options(const Config& config) {
  return {.data_dir = config.data_dir,
          .token_sha256 = config.token_sha256,
          .certificates = !config.tls_client_ca.empty(),
          .requests_per_second = config.tenant_rate};
}

// All tokens, by a connection of its own to the file.
std::function<std::vector<api::TokenInfo>()> token_list(const std::filesystem::path& directory) {
  struct Shared {
    explicit Shared(const std::filesystem::path& place) : store(place) {}
    std::mutex mutex;
    auth::TokenStore store;
  };
  return [shared = std::make_shared<Shared>(directory)] {
    const std::lock_guard lock(shared->mutex);
    std::vector<api::TokenInfo> tokens;
    for (auth::TokenRow& row : shared->store.list())
      tokens.push_back({.id = std::move(row.id),
                        .tenant = std::move(row.tenant),
                        .name = std::move(row.name),
                        .read = row.scopes.read,
                        .submit = row.scopes.submit,
                        .admin = row.scopes.admin,
                        .created = row.created,
                        .expires = row.expires,
                        .revoked = row.revoked});
    return tokens;
  };
}

// A server that strangers can reach must be able to distinguish them from its users.
void check_listen(const Config& config, auth::Authenticator& authenticator) {
  if (is_loopback(config.listen_host) || config.insecure_listen) return;
  if (!authenticator.has_credentials())
    throw Error(
        ErrorCode::kInvalidValue,
        fmt::format(
            "listen is {}:{}, beyond loopback, and there are no tokens: 'kedged init' makes a certificate and a "
            "token, 'kedged token create' a token, --tls-client-ca demands client certificates; "
            "--insecure-listen lets every caller in that reaches the port",
            config.listen_host, config.listen_port),
        "--listen");
  if (config.tls_cert.empty())
    log_error("no --tls-cert: tokens and data cross the network in clear text, unless a TLS proxy is in front");
}

// Reading is not worth a line unless it fails: dashboards and health checks do it all the time.
void log_request(const http::RequestRecord& record) {
  const bool is_quiet = (record.method == "GET" || record.method == "HEAD") && record.status < 400;
  const double seconds = std::chrono::duration<double>(record.took).count();
  log_event(is_quiet ? LogLevel::kDebug : LogLevel::kInfo, "request",
            {{"method", record.method}, {"path", record.path}, {"status", std::to_string(record.status)},
             {"seconds", fmt::format("{:.6f}", seconds)}, {"request_id", record.request_id}, {"trace_id", record.trace_id},
             {"tenant", record.tenant}, {"job_id", record.route.starts_with("/v1/jobs") ? record.subject : ""}, {"peer", record.peer}});
}

// Counts what the job service reports, and writes a line for each end of a job; for each step when debugging, as its
// worker then does for the begin and the end of a run.
class Watch final : public observe::Metrics {
 public:
  void job_step(const JobStep& step) override {
    Metrics::job_step(step);
    constexpr std::size_t kTraceAt = 3, kTraceSize = 32;   // of the id in a traceparent
    constexpr std::size_t kLongestMessage = 1000;          // bytes of a failure in a line
    const std::string_view trace_id = step.trace.size() > kTraceAt ? step.trace.substr(kTraceAt, kTraceSize) : std::string_view();
    log_event(schema::is_final(step.state) ? LogLevel::kInfo : LogLevel::kDebug, "job",
              {{"job_id", step.job}, {"state", schema::job_state_name(step.state)}, {"reason", step.reason},
               {"error", step.message.substr(0, kLongestMessage)}, {"where", step.where}, {"device", step.device},
               {"attempt", step.lease == 0 ? std::string() : std::to_string(step.lease)},
               {"queued_seconds", fmt::format("{:.6f}", step.queued_seconds)}, {"run_seconds", fmt::format("{:.6f}", step.run_seconds)},
               {"seconds", fmt::format("{:.6f}", step.total_seconds)}, {"trace_id", trace_id}, {"tenant", step.tenant}});
  }
};

bool has_open_jobs(const JobService& jobs) {
  using enum schema::JobState;
  for (const schema::JobState state : {kQueued, kFetching, kRunning, kFinalizing})
    if (!jobs.list({.state = state, .page_size = 1}).jobs.empty()) return true;
  return false;
}

http::ServerOptions http_options(const Config& config, auth::Authenticator& authenticator, observe::Metrics& metrics) {
  http::ServerOptions options;
  options.host = config.listen_host;
  options.port = config.listen_port;
  options.report = log_error;
  options.tls = {.certificate = config.tls_cert, .key = config.tls_key, .client_ca = config.tls_client_ca};
  if (is_loopback(config.listen_host) || !config.allowed_hosts.empty()) options.hosts = http::HostRules(config.allowed_hosts);
  options.sites = http::SiteRules(config.allowed_origins);
  if (KEDGE_CONTROL("keep-slow-readers")) options.deadlines.write_stall = std::chrono::hours(1);
  if (KEDGE_CONTROL("keep-dead-peers")) options.deadlines.acknowledgement = std::chrono::hours(1);
  options.gatekeeper = &authenticator;
  options.observe = [&metrics](const http::RequestRecord& record) {
    metrics.request(record);
    log_request(record);
  };
  options.stream_dropped = [&metrics](std::string_view reason) { metrics.stream_dropped(reason); };
  return options;
}

// What a rented machine costs and how long it may live, for the page and for dashboards.
void add_rental(observe::Metrics& metrics, const Config& config) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [start = Clock::now()] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  if (const double price = config.price_per_hour; price > 0) {
    metrics.gauge("kedge_machine_price_usd_per_hour", "What an hour of this machine costs, as configured.",
                  [price] { return price; });
    metrics.gauge("kedge_machine_cost_usd", "What this machine has cost since the server started.",
                  [price, seconds] { return price * seconds() / 3600; });
  }
  if (const auto life = static_cast<double>(config.life_end); life > 0)
    metrics.gauge("kedge_machine_ends_seconds", "Until this machine ends by --life-end.",
                  [life, seconds] { return std::max(0.0, life - seconds()); });
}

// What SIGHUP changes in addition to certificates: tokens, and of the configuration the limits; all of them, or, if one
// is wrong, none.
struct Reload {
  std::vector<std::string> arguments;
  auth::Authenticator& authenticator;
  JobService& jobs;
  api::StreamCounts& streams;
  observe::Metrics& metrics;
  std::atomic<std::int64_t>& drain_s;

  void operator()() const {
    authenticator.reload();
    try {
      grant(load_config(arguments, environment));
      log_info("certificates, tokens and limits were read again");
    } catch (const Error& error) {
      log_error(fmt::format("the configuration cannot be read again, its limits stay: {}", error.message));
    }
  }

  void grant(const Config& config) const {
    authenticator.set_token_sha256(config.token_sha256);
    authenticator.set_requests_per_second(config.tenant_rate);
    jobs.set_limits(service_limits(config));
    streams.set_per_tenant(config.tenant_streams);
    metrics.set_tenant_weights(config.tenant_weights);
    drain_s = config.drain_s;
  }
};

// Renamed into place, so that a program that waits for the file never reads half a number.
void write_port_file(const std::filesystem::path& file, std::uint16_t port) {
  if (file.empty()) return;
  const std::filesystem::path part = file.string() + ".part";
  std::ofstream(part) << port << '\n';
  std::filesystem::rename(part, file);
}

int serve(const Config& config, const std::vector<std::string>& arguments) {
  if (const std::string repaired = make_private(config.data_dir); !repaired.empty()) log_info(repaired);
  auth::Authenticator authenticator(auth_options(config), log_error);
  check_listen(config, authenticator);
  Watch metrics;
  metrics.set_tenant_weights(config.tenant_weights);
  JobService jobs(job_options(config, metrics));
  const std::unique_ptr<Models> models = make_models(jobs, config.data_dir, config.worker,
                                                     {.together = static_cast<std::size_t>(config.predict_batch),
                                                      .workers = static_cast<std::size_t>(config.predict_workers),
                                                      .delay = std::chrono::microseconds(config.predict_delay_us)},
                                                     log_error);
  api::StreamCounts streams(config.tenant_streams);
  http::net::thread_pool upload_threads(kUploadThreads);
  api::CheckDesk checks(jobs);
  api::TenantThreads previews("previews"), tables("Parquet or Arrow answers");
  api::ClusterDesk cluster(
      [&arguments](bool as_json, std::stop_token stop) { return cluster_report(arguments, as_json, std::move(stop)); });
  observe::Gpus gpus(config.nvml);
  if (!gpus.problem().empty()) log_info(fmt::format("no figures of GPUs in /metrics: {}", gpus.problem()));
  const api::Api api{.jobs = jobs,
                     .info = server_info(),
                     .catalogue = catalogue(),
                     .models = models.get(),
                     .registry = &jobs.registry(),
                     .streams = &streams,
                     .uploads = &jobs.uploads(),
                     .checks = &checks,
                     .cluster = config.cluster_ranks > 0 ? &cluster : nullptr,
                     .previews = &previews,
                     .tables = &tables,
                     .scratch = config.data_dir / "models",
                     .upload_threads = &upload_threads,
                     .tokens = token_list(config.data_dir),
                     .metrics =
                         [&metrics, &models](const http::Caller& caller) {
                           const auto tenant = caller.admin ? std::nullopt : std::optional(caller.tenant);
                           const auto drift = [&](const std::string& model) { return models->drift_index(model); };
                           return metrics.text(tenant) + model_text(models->book(), tenant, drift);
                         },
                     .service_metrics = [&jobs, &gpus] { return service_text(jobs, gpus); }};
  std::atomic<http::Server*> running = nullptr;
  Lease lease({.idle = std::chrono::seconds(config.idle_end), .life = std::chrono::seconds(config.life_end)},
              [&jobs] { return has_open_jobs(jobs); },
              [&running](std::string_view why) {
                log_info(fmt::format("this server ends: {}", why));
                if (http::Server* server = running) server->stop();
              });
  http::ServerOptions http = http_options(config, authenticator, metrics);
  std::atomic<std::int64_t> drain_s = config.drain_s;
  http.reload = Reload{arguments, authenticator, jobs, streams, metrics, drain_s};
  http.stopping = [&jobs] { jobs.begin_drain(); };
  http::Server server(std::move(http), http::Router(lease.renewed_by(api::routes(api))));
  running = &server;
  metrics.set_build({.version = std::string(version()), .commit = std::string(commit()), .cuda = std::string(cuda_version())});
  metrics.add([&server](observe::Exposition& out) {
    const http::Connections open = server.connections();
    out.family("kedge_http_connections", "gauge", "Open connections, with a request in progress and without.");
    out.sample({{"kind", "active"}}, static_cast<double>(open.active));
    out.sample({{"kind", "idle"}}, static_cast<double>(open.idle));
  });
  add_rental(metrics, config);
  metrics.gauge("kedge_event_streams", "Open event streams.", [&streams] { return static_cast<double>(streams.total()); });
  write_port_file(config.port_file, server.port());
  log_info(fmt::format("kedged {} listens on {}:{}, data in {}{}", version(), config.listen_host, server.port(),
                       config.data_dir.string(),
                       config.tls_cert.empty() ? "" : ", TLS with the certificate " + server.fingerprint()));
  const bool may_drain = server.run(/*handle_signals=*/true);
  running = nullptr;
  previews.end();
  tables.end();
  cluster.end();
  upload_threads.join();   // before the loop goes that they answer to
  if (!may_drain) return EXIT_SUCCESS;
  log_info("stopping: running jobs may end");
  // From here on another signal ends the process at once; what is on disk is whole at any moment, and the workers go with it.
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  jobs.drain(std::chrono::seconds(drain_s));
  return EXIT_SUCCESS;
}

int run(const std::vector<std::string>& arguments) {
  keep_new_files_private();
  if (const auto code = run_admin_command(arguments, environment)) return *code;
  if (const auto code = run_cluster_check(arguments, environment)) return *code;
  Config config;
  try {
    config = load_config(arguments, environment);
  } catch (const schema::Error& e) {
    fmt::print(stderr, "kedged: {}\n", e.message);
    return kExitConfig;
  }
  if (!config.print.empty()) {
    std::fputs(config.print.c_str(), stdout);
    return EXIT_SUCCESS;
  }
  set_log_level(config.log_level);
  if (config.json_log) set_log_json();
  raise_descriptor_limit();
  ::mallopt(M_ARENA_MAX,
            2);  // what one thread frees serves the others: a third less memory for each open stream
  engine::set_up_memory_reserve(kMemoryReserve);
  std::signal(SIGPIPE, SIG_IGN);  // a worker that died must not take the server with it
  if (config.threads > 0)
    ::setenv("OMP_NUM_THREADS", std::to_string(config.threads).c_str(), 1);  // workers inherit it
  // Microseconds instead of milliseconds that a worker's threads spin for each other: on a busy machine
  // they would spin while the one they wait for has no core. What the user has set stays.
  ::setenv("GOMP_SPINCOUNT", "1000", 0);
  try {
    return serve(config, arguments);
  } catch (const schema::Error& e) {
    log_error(e.message);
    if (e.code == ErrorCode::kInvalidValue) return kExitConfig;
    return e.where == "listen" ? kExitPortBusy : kExitStore;
  } catch (const std::exception& e) {
    log_error(e.what());
    return EXIT_FAILURE;
  }
}

}  // namespace
}  // namespace kedge::server

int main(int argc, char** argv) {
  return kedge::server::run({argv + 1, argv + argc});
}
