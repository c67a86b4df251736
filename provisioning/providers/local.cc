// A server process on this machine: costs nothing, and goes through everything that a rented machine goes through.
// Machines that are processes.
#include "provisioning/providers.h"

#include <fmt/core.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>

#include "crypto/digest.h"
#include "provisioning/bootstrap.h"
#include "provisioning/process.h"
#include "provisioning/providers/gpus.h"

namespace kedge::provisioning {
namespace fs = std::filesystem;
namespace {

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The value of KEDGE_MACHINE in a process's environment; empty when it has none, is a zombie, or is not ours to read.
std::string tag_of(const fs::path& process) {
  const std::string environment = '\0' + read_file(process / "environ");
  const std::string key = std::string(1, '\0') + "KEDGE_MACHINE=";
  const std::size_t start = environment.find(key);
  if (start == std::string::npos) return {};
  return environment.c_str() + start + key.size();
}

// The programs that a machine of ours consists of; a shell that a user started with the variable set is none.
bool is_machine_part(const fs::path& process) {
  const std::string name = read_file(process / "comm");
  if (name == "kedge\n")
    return read_file(process / "cmdline").find(std::string("\0host-agent\0", 12)) != std::string::npos;
  return name == "kedged\n" || name == "kedge-worker\n";
}

// A loopback address that mpirun does not take for its own host's, and that no other machine is likely to have.
std::string agent_address(const std::string& id) {
  const std::string digest = crypto::sha256_hex(id);
  const auto byte = [&](std::size_t at) { return std::stoi(digest.substr(2 * at, 2), nullptr, 16); };
  return fmt::format("127.{}.{}.{}", 1 + byte(0) % 254, byte(1), 1 + byte(2) % 254);
}

std::multimap<std::string, pid_t> tagged_processes() {
  std::multimap<std::string, pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || !is_machine_part(entry.path())) continue;
    if (std::string tag = tag_of(entry.path()); !tag.empty()) found.emplace(std::move(tag), static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

class Local final : public Provider {
 public:
  Local(fs::path kedged, fs::path kedge, fs::path directory)
      : kedged_(std::move(kedged)), kedge_(std::move(kedge)), directory_(std::move(directory)) {}
  std::string_view name() const override { return "local"; }
  std::string_view fuse() const override { return "timeout(1) ends the process after its life"; }

  std::chrono::seconds settle() const override { return std::chrono::seconds(5); }   // processes are seen at once

  std::vector<Offer> offers(const Wish&) override { return {offer_here("local", "process")}; }

  Machine launch(const Intent& intent) override {
    const fs::path home = directory_ / intent.id;
    fs::create_directories(home);
    fs::permissions(home, fs::perms::owner_all);
    if (intent.is_clustered()) write_key(intent, home);
    if (intent.is_agent()) start_agent(intent, home);
    else start_server(intent, home);
    return {.id = intent.id, .name = intent.id};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    for (Machine& machine : list_owned(intent.id)) return machine;
    return std::nullopt;
  }

  // The worker processes follow their server. A process that still runs 15 s after SIGTERM gets SIGKILL.
  void terminate(const Intent& intent) override {
    constexpr std::int64_t kPatience_s = 15;
    const bool patient = ::time(nullptr) - intent.ended < kPatience_s;
    const auto [first, last] = tagged_range(intent.id);
    for (auto process = first; process != last; ++process) ::kill(process->second, patient ? SIGTERM : SIGKILL);
  }

  std::vector<Machine> list_owned(const std::string& owner) override {
    std::vector<Machine> machines;
    std::string last;
    for (const auto& [tag, process] : tagged_processes()) {
      if (tag == last || (tag != owner && !tag.starts_with(name_prefix(owner)))) continue;
      last = tag;
      Machine machine{.id = tag, .name = tag, .state = MachineState::kRunning, .detail = fmt::format("process {}", process)};
      machine.port = std::atoi(read_file(directory_ / tag / "port").c_str());
      if (machine.port > 0) machine.address = "127.0.0.1";
      if (listens_as_agent(directory_ / tag)) machine.address = machine.private_address = agent_address(tag);
      machines.push_back(std::move(machine));
    }
    return machines;
  }

  void cleanup(const Intent& intent) override {
    std::error_code error;
    fs::remove_all(directory_ / intent.id, error);
    if (error) throw ProviderError(Failure::kRetryLater, "local: remove " + (directory_ / intent.id).string(), error.message());
  }

  std::string log(const Intent& intent) override { return end_of_log(read_file(directory_ / intent.id / "log")); }

 private:
  static fs::path key_file(const fs::path& home) { return home / "cluster.key"; }

  static void write_key(const Intent& intent, const fs::path& home) {
    std::ofstream(key_file(home), std::ios::binary) << intent.cluster.key;   // in a folder that is closed to others
    fs::permissions(key_file(home), fs::perms::owner_read | fs::perms::owner_write);
  }

  static bool listens_as_agent(const fs::path& home) {
    return read_file(home / "log").find("kedge host-agent: listening at ") != std::string::npos;
  }

  void start_server(const Intent& intent, const fs::path& home) const {
    Settings settings = server_settings(intent, "127.0.0.1:0");
    settings.emplace_back("KEDGE_DATA_DIR", (home / "data").string());
    settings.emplace_back("KEDGE_PORT_FILE", (home / "port").string());
    if (intent.is_clustered()) settings.emplace_back("KEDGE_CLUSTER_KEY", key_file(home).string());
    start(intent, {kedged_.string()}, settings, home);
  }

  void start_agent(const Intent& intent, const fs::path& home) const {
    start(intent,
          {kedge_.string(), "host-agent", "--key", key_file(home).string(), "--listen",
           fmt::format("{}:{}", agent_address(intent.id), kAgentPort), "--idle-end",
           fmt::format("{}s", intent.cluster.patience_s), "--life-end", fmt::format("{}s", intent.lease.life_s)},
          {{"KEDGE_MACHINE", intent.id}}, home);
  }

  static void start(const Intent& intent, const std::vector<std::string>& program, const Settings& settings,
                    const fs::path& home) {
    std::vector<std::string> arguments{"timeout", "--kill-after=30",
                                       std::to_string(intent.lease.life_s + kFuseSlack_s)};
    arguments.insert(arguments.end(), program.begin(), program.end());
    start_detached(arguments, settings, home / "log");
  }

  using Found = std::multimap<std::string, pid_t>;
  std::pair<Found::iterator, Found::iterator> tagged_range(const std::string& tag) {
    found_ = tagged_processes();
    return found_.equal_range(tag);
  }

  fs::path kedged_, kedge_, directory_;
  Found found_;
};

}   // namespace

// Set up where kedged is in this program's folder or KEDGE_KEDGED names it. Machines are found by the variable
// KEDGE_MACHINE in the environment of processes, so they are found even when every file of ours is lost.
std::unique_ptr<Provider> make_local(const Surroundings& here) {
  const fs::path kedged = here.variable("KEDGE_KEDGED").value_or((here.programs / "kedged").string());
  if (::access(kedged.c_str(), X_OK) != 0) return nullptr;
  return std::make_unique<Local>(kedged, here.programs / "kedge", here.state_directory / "local");
}

}   // namespace kedge::provisioning
