// What kedged accepts as a cluster.
#include "server/config_cluster.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "schemas/error.h"
#include "server/config_values.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::string_view kKeyBegins = "kedge-host-token: ";   // as `kedge host-agent --new-key` writes it

[[noreturn]] void fail(const char* setting, std::string_view problem, ErrorCode code = ErrorCode::kInvalidValue) {
  throw Error(code, fmt::format("{} {}", setting, problem), setting);
}

// Before the launcher needs it: `kedge host-exec` would say the same in the log of a group that has not started.
void check_key(const std::filesystem::path& key) {
  struct stat status{};
  if (::stat(key.c_str(), &status) != 0)
    fail("cluster-key",
         fmt::format("is '{}', which cannot be read: {}; `kedge host-agent --new-key FILE` makes one", key.string(),
                     std::generic_category().message(errno)),
         ErrorCode::kNotFound);
  if (!S_ISREG(status.st_mode)) fail("cluster-key", fmt::format("is '{}', must be a file", key.string()));
  if ((status.st_mode & S_IRWXO) != 0)
    fail("cluster-key", fmt::format("is '{}' of mode {:04o}, must be closed to others: chmod 600", key.string(),
                                    status.st_mode & 07777U));
  std::ifstream in(key, std::ios::binary);
  std::string begin(kKeyBegins.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin != kKeyBegins)
    fail("cluster-key", fmt::format("is '{}', must be a key of `kedge host-agent --new-key`", key.string()));
}

}   // namespace

void set_cluster_launcher(Config& config, const std::string& text) {
  if (text != "mpirun" && text != "srun" && text != "command") refuse(text, "must be mpirun, srun or command");
  config.cluster_launcher = text;
}

void set_cluster_device(Config& config, const std::string& text) {
  if (text != "cpu" && text != "cuda" && text != "auto") refuse(text, "must be cpu, cuda or auto");
  config.cluster_device = text;
}

void set_cluster_command(Config& config, const std::string& text) {
  if ((" " + text + " ").find(" {worker} ") == std::string::npos)
    refuse(text, "must have {worker} where the worker's command line belongs");
  config.cluster_command = text;
}

// mpirun divides what it starts in place of ssh at blanks.
void set_cluster_key(Config& config, const std::string& text) {
  config.cluster_key = std::filesystem::absolute(text);
  if (config.cluster_key.string().find_first_of(" \t,\"'") != std::string::npos)
    refuse(text, "must be a path without blanks, commas and quotes");
}

void check_cluster(const Config& config) {
  const bool by_command = config.cluster_launcher == "command";
  if (by_command && config.cluster_ranks > 0 && config.cluster_command.empty())
    fail("cluster-command", "is missing: cluster-launcher is command");
  if (!by_command && !config.cluster_command.empty()) fail("cluster-command", "needs cluster-launcher command");
  if (config.cluster_launcher != "mpirun" && !config.cluster_hosts.empty())
    fail("cluster-hosts", "needs cluster-launcher mpirun");
  if (config.cluster_key.empty()) return;
  if (config.cluster_hosts.empty()) fail("cluster-key", "needs cluster-hosts: it is for the agents there");
  check_key(config.cluster_key);
}

}   // namespace kedge::server
