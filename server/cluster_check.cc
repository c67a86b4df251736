// Becomes the launcher of a group of ranks that checks itself: see cluster_check.h.
#include "server/cluster_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "schemas/error.h"
#include "server/jobs/child_environment.h"
#include "server/jobs/cluster.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr int kExitUnavailable = 69, kExitConfig = 78;
constexpr unsigned kStartSeconds = 90, kSecondsForRank = 3;   // more than the ranks give themselves

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void become_launcher(const ClusterOptions& options, const std::filesystem::path& worker, bool as_json) {
  std::vector<std::string> checked{worker.string(), "--cluster-check", "--device", options.device};
  if (as_json) checked.emplace_back("--json");
  std::vector<std::string> arguments = launch_arguments(options, checked), variables = launcher_environment();
  variables.emplace_back("KEDGE_CHANNEL_TOKEN=none");   // the launcher passes it on; nothing is connected to
  std::vector<char*> argv = pointers(arguments), envp = pointers(variables);
  ::alarm(kStartSeconds +
          kSecondsForRank * static_cast<unsigned>(options.ranks));   // it outlives exec, and ends a launcher that hangs
  ::execve(argv[0], argv.data(), envp.data());
  throw Error(ErrorCode::kUnavailable,
              fmt::format("cannot start {}: {}", arguments[0], std::generic_category().message(errno)));
}

int check(const Config& config, bool as_json) {
  if (config.cluster_ranks == 0)
    throw Error(ErrorCode::kInvalidValue,
                "cluster-ranks is not set, so there is no cluster to check: name the file with [cluster] by --config",
                "cluster-ranks");
  const ClusterOptions options{.ranks = config.cluster_ranks,
                               .launcher = config.cluster_launcher,
                               .device = config.cluster_device,
                               .hosts = config.cluster_hosts,
                               .key = config.cluster_key,
                               .command = config.cluster_command};
  const std::filesystem::path worker =
      config.worker.empty() ? std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kedge-worker"
                            : std::filesystem::absolute(config.worker);
  if (!std::filesystem::exists(worker))
    throw Error(ErrorCode::kUnavailable, fmt::format("there is no {}", worker.string()));
  if (const schema::DeviceEntry entry = cluster_entry(options, worker); !entry.missing.empty())
    throw Error(ErrorCode::kUnavailable, entry.missing);
  become_launcher(options, worker, as_json);
}

}   // namespace

std::optional<int> run_cluster_check(const std::vector<std::string>& arguments, const Environment& environment) {
  if (arguments.empty() || arguments[0] != "check-cluster") return std::nullopt;
  std::vector<std::string> settings(arguments.begin() + 1, arguments.end());
  const bool as_json = std::erase(settings, "--json") > 0;
  try {
    const Config config = load_config(settings, environment);
    if (config.print.empty()) return check(config, as_json);
    fmt::print("{}", config.print);
    return EXIT_SUCCESS;
  } catch (const Error& error) {
    fmt::print(stderr, "kedged: {}\n", error.message);
    return error.code == ErrorCode::kUnavailable ? kExitUnavailable : kExitConfig;
  }
}

}   // namespace kedge::server
