// The first process of a rented container.
#include "client/cli/host_command.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "client/cli/host_exec_commands.h"
#include "client/cli/report.h"
#include "client/host/agent.h"
#include "client/host/key.h"
#include "provisioning/errors.h"
#include "provisioning/http/client.h"
#include "provisioning/process.h"
#include "provisioning/providers.h"
#include "provisioning/self_end.h"

namespace kedge::cli {
namespace {

volatile std::sig_atomic_t server = 0;   // read by the handler that passes signals on

void pass_on(int number) {
  if (server > 0) kill(static_cast<pid_t>(server), number);
}

using provisioning::environment_variable;

bool has_credentials() {
  const std::filesystem::path data = environment_variable("KEDGE_DATA_DIR").value_or("/data");
  return environment_variable("KEDGE_TOKEN_SHA256") || environment_variable("KEDGE_INSECURE_LISTEN") || std::filesystem::exists(data / "tls" / "cert.pem");
}

// The key of its cluster's hosts comes in the environment, and stays in a file that is closed to others. A shell may
// have cut the last end of a line.
std::filesystem::path keep_host_key(std::string key) {
  if (!key.ends_with('\n')) key += '\n';
  const auto file = std::filesystem::temp_directory_path() / "kedge-cluster.key";
  std::filesystem::remove(file);   // of an earlier start
  host::write_host_key(key, file);
  unsetenv("KEDGE_HOST_KEY");
  return file;
}

std::chrono::seconds seconds_of(const char* variable) {
  return std::chrono::seconds(std::atoll(environment_variable(variable).value_or("0").c_str()));
}

int run_agent(const std::string& place, const std::filesystem::path& key) {
  host::AgentOptions agent{.key = host::read_host_key(key),
                           .idle_end = seconds_of("KEDGE_AGENT_IDLE_END"),
                           .life_end = seconds_of("KEDGE_AGENT_LIFE_END")};
  set_place(agent, place);
  return host::run_agent(agent);
}

}  // namespace

int health(const Options& options) {
  const std::string listen = environment_variable("KEDGE_LISTEN").value_or(":5334");
  const std::string place = "127.0.0.1" + listen.substr(listen.rfind(':')) + "/livez";
  provisioning::http::CurlClient curl;
  std::string problem;
  for (const char* scheme : {"https://", "http://"}) {
    try {
      const auto response = curl.send({.url = scheme + place, .timeout = std::chrono::seconds(4), .any_certificate = true});
      if (response.status == 200) {
        if (options.json) fmt::print("{{\"status\":\"ok\"}}\n");
        return kSucceeded;
      }
      problem = fmt::format("answers {}", response.status);
    } catch (const provisioning::ProviderError& error) {
      problem = error.words;
    }
  }
  return report(schema::Error(schema::ErrorCode::kUnavailable, fmt::format("{}: {}", place, problem)), options);
}

int host(const Options&) {
  if (const auto key = environment_variable("KEDGE_HOST_KEY")) {
    const std::filesystem::path file = keep_host_key(*key);
    if (const auto place = environment_variable("KEDGE_HOST_AGENT")) return run_agent(*place, file);
    setenv("KEDGE_CLUSTER_KEY", file.c_str(), 1);
  }
  const std::string kedged = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kedged").string();
  if (!has_credentials()) {
    // The name by which this container is reached is not known inside; its port is mostly published on the machine that one sits at.
    const auto made = provisioning::run_program({kedged, "init", "--starts-now", "--host", environment_variable("KEDGE_HOST").value_or("localhost")});
    fmt::print("{}{}", made.out, made.err);
    std::fflush(stdout);
    if (made.status != 0) return kFailed;
  }
  const pid_t child = fork();
  if (child == 0) {
    execl(kedged.c_str(), kedged.c_str(), nullptr);
    _exit(127);
  }
  server = child;
  std::signal(SIGTERM, pass_on);
  std::signal(SIGINT, pass_on);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  fmt::print(stderr, "kedge host: the server has ended\n");
  provisioning::end_this_machine();
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

}  // namespace kedge::cli
