// The device "cluster": see cluster.h.
#include "server/jobs/cluster.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>

#include "crypto/random.h"
#include "schemas/error.h"

namespace kedge::server {
namespace {

namespace fs = std::filesystem;
using schema::Error;
using schema::ErrorCode;

constexpr std::chrono::seconds kStartLimit{60};
constexpr int kSecondsToSayToken = 5;

std::string system_text() {
  return std::generic_category().message(errno);
}

std::optional<fs::path> find_program(const std::string& name) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos)
    return fs::exists(name, ignored) ? std::optional<fs::path>(name) : std::nullopt;
  const char* const path = ::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path file = fs::path(folder) / name; ::access(file.c_str(), X_OK) == 0) return file;
  return std::nullopt;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::string program_of(const ClusterOptions& options) {
  if (options.launcher != "command") return options.launcher;
  const std::vector<std::string> words = words_of(options.command);
  return words.empty() ? std::string() : words.front();
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",") + text;
  return all;
}

fs::path agent_caller(const fs::path& worker) {
  return fs::absolute(worker).parent_path() / "kedge";
}

// In place of ssh. Its daemons stay children of the agents, which end them when this launcher is gone. They are found
// on the agents' PATH: without --noprefix the command would set a PATH, which takes a shell. The path of the key is
// this host's, so this host reaches all others itself.
std::vector<std::string> agent_arguments(const ClusterOptions& options, const fs::path& worker) {
  return {"--noprefix",
          "--mca",
          "plm_rsh_agent",
          fmt::format("{} host-exec --key {}", agent_caller(worker).string(), options.key.string()),
          "--mca",
          "plm_rsh_no_tree_spawn",
          "1",
          "--mca",
          "orte_leave_session_attached",
          "1"};
}

// Why agents cannot be called; empty: they can, or there are none. mpirun divides the caller's path at blanks.
std::string agent_problem(const ClusterOptions& options, const fs::path& worker) {
  if (options.key.empty()) return {};
  const fs::path caller = agent_caller(worker);
  if (::access(caller.c_str(), X_OK) != 0)
    return fmt::format("there is no program {}, which cluster-key needs to start ranks on other hosts",
                       caller.string());
  if (caller.string().find_first_of(" \t,\"'") == std::string::npos) return {};
  return fmt::format("the path of {} has a blank, a comma or a quote, which cluster-key does not permit",
                     caller.string());
}

// Open MPI's own settings notice a host that is gone only after minutes.
std::vector<std::string> mpirun_arguments(const ClusterOptions& options, const fs::path& worker) {
  std::vector<std::string> arguments{"-q",
                                     "--oversubscribe",
                                     "--bind-to",
                                     "none",
                                     "-n",
                                     std::to_string(options.ranks),
                                     "--mca",
                                     "oob_tcp_keepalive_time",
                                     "5",
                                     "--mca",
                                     "oob_tcp_keepalive_intvl",
                                     "2",
                                     "--mca",
                                     "oob_tcp_keepalive_probes",
                                     "2",
                                     "-x",
                                     "KEDGE_CHANNEL_TOKEN"};
  if (!options.hosts.empty()) arguments.insert(arguments.end(), {"--host", joined(options.hosts)});
  if (options.key.empty()) return arguments;
  const std::vector<std::string> agent = agent_arguments(options, worker);
  arguments.insert(arguments.end(), agent.begin(), agent.end());
  return arguments;
}

std::vector<std::string> command_arguments(const ClusterOptions& options, const std::vector<std::string>& worker) {
  std::vector<std::string> arguments;
  for (const std::string& word : words_of(options.command)) {
    if (word == "{worker}") arguments.insert(arguments.end(), worker.begin(), worker.end());
    else arguments.push_back(word == "{ranks}" ? std::to_string(options.ranks) : word);
  }
  arguments.erase(arguments.begin());
  return arguments;
}

bool has_plugin(const fs::path& worker) {
  std::error_code ignored;
  for (const fs::path& folder : {worker.parent_path(), worker.parent_path().parent_path() / "lib"})
    for (const char* name : {"libkedge_mpi.so", "libkedge_mpich.so"})
      if (fs::exists(folder / name, ignored)) return true;
  return false;
}

}   // namespace

schema::DeviceEntry cluster_entry(const ClusterOptions& options, const fs::path& worker) {
  schema::DeviceEntry entry{
      .id = std::string(kClusterId), .name = fmt::format("{} ranks", options.ranks), .driver = options.launcher};
  if (!find_program(program_of(options)))
    entry.missing = fmt::format("there is no program {} to start {} ranks with", program_of(options), options.ranks);
  else if (!has_plugin(worker))
    entry.missing = "libkedge_mpi.so is not beside kedge-worker: this build was made without MPI";
  else entry.missing = agent_problem(options, worker);
  return entry;
}

std::vector<std::string> launch_arguments(const ClusterOptions& options, const std::vector<std::string>& worker) {
  const std::optional<fs::path> program = find_program(program_of(options));
  if (!program)
    throw Error(ErrorCode::kUnavailable, fmt::format("cluster: there is no program {}", program_of(options)));
  std::vector<std::string> arguments{program->string()};
  const auto add = [&](const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  };
  if (options.launcher == "command") {
    add(command_arguments(options, worker));
    return arguments;
  }
  if (options.launcher == "srun")
    add({"-n", std::to_string(options.ranks), "--mpi=pmix", "--kill-on-bad-exit=1", "--export=ALL"});
  else add(mpirun_arguments(options, worker.front()));
  add(worker);
  return arguments;
}

// Not in the data directory, whose path may be longer than an address of a socket may be.
RankSocket::RankSocket() : token_(crypto::random_hex(32)) {
  std::string folder = (fs::temp_directory_path() / "kedge-ranks-XXXXXX").string();
  if (!::mkdtemp(folder.data()))
    throw Error(ErrorCode::kUnavailable, fmt::format("cannot make a folder for a socket: {}", system_text()));
  folder_ = folder, path_ = folder_ / "first";
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ >= 0 && ::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(fd_, 1) == 0)
    return;
  const std::string why = system_text();
  if (fd_ >= 0) ::close(fd_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  throw Error(ErrorCode::kUnavailable, fmt::format("cannot listen for the first rank: {}", why));
}

RankSocket::~RankSocket() {
  if (fd_ >= 0) ::close(fd_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

int RankSocket::accept(int pid_fd, std::stop_token stop) const {
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < until) {
    std::array<pollfd, 2> fds{
        {{.fd = fd_, .events = POLLIN, .revents = 0}, {.fd = pid_fd, .events = POLLIN, .revents = 0}}};
    if (::poll(fds.data(), fds.size(), 100) <= 0) continue;
    if (fds[0].revents != 0) {
      const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      const timeval time{.tv_sec = kSecondsToSayToken, .tv_usec = 0};
      ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
      std::string said(token_.size(), '\0');
      if (::recv(fd, said.data(), said.size(), MSG_WAITALL) == static_cast<ssize_t>(said.size()) && said == token_)
        return fd;
      ::close(fd);
    } else if (fds[1].revents != 0) {
      throw Error(ErrorCode::kUnavailable,
                  "the launcher of the ranks ended before rank 0 was there; its reasons are in the server's log");
    }
  }
  throw Error(ErrorCode::kUnavailable, stop.stop_requested()
                                           ? "the server stops"
                                           : fmt::format("rank 0 was not there within {} s", kStartLimit.count()));
}

int end_leftovers(const std::string& token) {
  const std::string mark = "KEDGE_CHANNEL_TOKEN=" + token;
  int ended = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    std::ifstream in(entry.path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(in), {}};
    if (environment.find(mark) == std::string::npos) continue;
    ended += ::kill(static_cast<pid_t>(std::stol(name)), SIGKILL) == 0;
  }
  return ended;
}

}   // namespace kedge::server
