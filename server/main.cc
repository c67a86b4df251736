// kedged: the server, as a list of its parts.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "engine/estimators/catalogue.h"
#include "engine/metrics/scorers.h"
#include "schemas/error.h"
#include "server/api/api.h"
#include "server/config.h"
#include "server/http/server.h"
#include "server/jobs/job_service.h"
#include "server/lease.h"
#include "server/log.h"

namespace kedge::server {
namespace {

// As in sysexits.h.
constexpr int kExitConfig = 78, kExitPortBusy = 69, kExitStore = 74;

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

JobServiceOptions job_options(const Config& config) {
  JobServiceOptions options;
  options.data_dir = config.data_dir;
  options.data = {.directory = config.data_dir / "datasets",
                  .openml_url = config.openml_url,
                  .allow_fetch = config.allow_fetch};
  options.worker_program = config.worker;
  options.devices = config.devices;
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

bool has_open_jobs(const JobService& jobs) {
  using enum schema::JobState;
  for (const schema::JobState state : {kQueued, kFetching, kRunning, kFinalizing})
    if (!jobs.list({.state = state, .page_size = 1}).jobs.empty()) return true;
  return false;
}

http::ServerOptions http_options(const Config& config) {
  http::ServerOptions options;
  options.host = config.listen_host;
  options.port = config.listen_port;
  options.report = log_error;
  return options;
}

// Renamed into place, so that who waits for the file never reads half a number.
void write_port_file(const std::filesystem::path& file, std::uint16_t port) {
  if (file.empty()) return;
  const std::filesystem::path part = file.string() + ".part";
  std::ofstream(part) << port << '\n';
  std::filesystem::rename(part, file);
}

int serve(const Config& config) {
  JobService jobs(job_options(config));
  const api::Api api{jobs, server_info(), catalogue()};
  std::atomic<http::Server*> running = nullptr;
  Lease lease({.idle = std::chrono::seconds(config.idle_end), .life = std::chrono::seconds(config.life_end)},
              [&jobs] { return has_open_jobs(jobs); },
              [&running](std::string_view why) {
                log_info(fmt::format("this server ends: {}", why));
                if (http::Server* server = running) server->stop();
              });
  http::Server server(http_options(config), http::Router(lease.renewed_by(api::routes(api))));
  running = &server;
  write_port_file(config.port_file, server.port());
  log_info(fmt::format("kedged {} listens on {}:{}, data in {}", version(), config.listen_host, server.port(),
                       config.data_dir.string()));
  server.run(/*handle_signals=*/true);
  log_info("stopping");
  return EXIT_SUCCESS;
}

int run(const std::vector<std::string>& arguments) {
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
  raise_descriptor_limit();
  ::mallopt(M_ARENA_MAX,
            2);  // what one thread frees serves the others: a third less memory for each open stream
  std::signal(SIGPIPE, SIG_IGN);  // a worker that died must not take the server with it
  if (config.threads > 0)
    ::setenv("OMP_NUM_THREADS", std::to_string(config.threads).c_str(), 1);  // workers inherit it
  // Microseconds instead of milliseconds that a worker's threads spin for each other: on a busy machine
  // they would spin while the one they wait for has no core. What the user has set stays.
  ::setenv("GOMP_SPINCOUNT", "1000", 0);
  try {
    return serve(config);
  } catch (const schema::Error& e) {
    log_error(e.message);
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
