// Becomes the launcher of a group of ranks that checks itself: see cluster_check.h.
#include "server/cluster_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "schemas/error.h"
#include "server/jobs/child_environment.h"
#include "server/jobs/cluster.h"
#include "server/jobs/spawn_setup.h"

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

// A process with its outputs in files that only it and this one have.
class Checker {
 public:
  explicit Checker(std::vector<std::string> arguments) {
    SpawnSetup setup;
    posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&setup.actions, out_, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&setup.actions, err_, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&setup.actions, STDERR_FILENO + 1);
    const std::vector<char*> argv = pointers(arguments);
    const int error = posix_spawn(&pid_, argv[0], &setup.actions, &setup.attributes, argv.data(), environ);
    if (error == 0) return;
    close_files();
    throw Error(ErrorCode::kUnavailable,
                fmt::format("cannot start {}: {}", arguments[0], std::generic_category().message(error)));
  }
  ~Checker() {
    if (pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    close_files();
  }
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // SIGTERM lets the launcher end the ranks of other hosts.
  void ask_to_end() const { ::kill(pid_, SIGTERM); }
  bool has_ended() {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
  }
  std::string out() const { return text_of(out_); }
  std::string err() const { return text_of(err_); }

 private:
  static int memory_file() { return ::memfd_create("kedge-cluster-check", MFD_CLOEXEC); }
  static std::string text_of(int fd) {
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t n = 0; (n = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text.size()))) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(n));
    return text;
  }
  void close_files() const {
    for (const int fd : {out_, err_}) ::close(fd);
  }

  const int out_ = memory_file(), err_ = memory_file();
  pid_t pid_ = -1;
};

// The launcher's last words.
std::string complaint(std::string words) {
  constexpr std::size_t kLongest = 2000;
  while (words.ends_with('\n')) words.pop_back();
  if (words.size() > kLongest) words.erase(0, words.size() - kLongest);
  return words.empty() ? "the ranks did not come together, and their launcher said nothing" : words;
}

}   // namespace

std::string cluster_report(const std::vector<std::string>& arguments, bool as_json, std::stop_token stop) {
  constexpr std::chrono::milliseconds kLook{50};
  constexpr std::chrono::seconds kPatience{5};   // after a stop
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(), "check-cluster"};
  if (as_json) words.emplace_back("--json");
  words.insert(words.end(), arguments.begin(), arguments.end());
  Checker checker(std::move(words));
  std::optional<std::chrono::steady_clock::time_point> until;
  while (!checker.has_ended() && (!until || std::chrono::steady_clock::now() < *until)) {
    if (stop.stop_requested() && !until) {
      checker.ask_to_end();
      until = std::chrono::steady_clock::now() + kPatience;
    }
    std::this_thread::sleep_for(kLook);
  }
  if (until) throw Error(ErrorCode::kUnavailable, "the check was stopped");
  std::string report = checker.out();
  if (report.empty()) throw Error(ErrorCode::kUnavailable, complaint(checker.err()));
  return report;
}

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
