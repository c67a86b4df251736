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
bool is_server_part(const fs::path& process) {
  const std::string name = read_file(process / "comm");
  return name == "kedged\n" || name == "kedge-worker\n";
}

std::multimap<std::string, pid_t> tagged_processes() {
  std::multimap<std::string, pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || !is_server_part(entry.path())) continue;
    if (std::string tag = tag_of(entry.path()); !tag.empty()) found.emplace(std::move(tag), static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

class Local final : public Provider {
 public:
  Local(fs::path kedged, fs::path directory) : kedged_(std::move(kedged)), directory_(std::move(directory)) {}
  std::string_view name() const override { return "local"; }
  std::string_view fuse() const override { return "timeout(1) ends the process after its life"; }

  std::chrono::seconds settle() const override { return std::chrono::seconds(5); }   // processes are seen at once

  std::vector<Offer> offers(const Wish&) override { return {offer_here("local", "process")}; }

  Machine launch(const Intent& intent) override {
    const fs::path home = directory_ / intent.id;
    fs::create_directories(home);
    fs::permissions(home, fs::perms::owner_all);
    Settings settings = server_settings(intent, "127.0.0.1:0");
    settings.emplace_back("KEDGE_DATA_DIR", (home / "data").string());
    settings.emplace_back("KEDGE_PORT_FILE", (home / "port").string());
    start_detached({"timeout", "--kill-after=30", std::to_string(intent.lease.life_s + kFuseSlack_s), kedged_.string()}, settings,
                   home / "log");
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
  using Found = std::multimap<std::string, pid_t>;
  std::pair<Found::iterator, Found::iterator> tagged_range(const std::string& tag) {
    found_ = tagged_processes();
    return found_.equal_range(tag);
  }

  fs::path kedged_, directory_;
  Found found_;
};

}   // namespace

// Set up where kedged is in this program's folder or KEDGE_KEDGED names it. Machines are found by the variable
// KEDGE_MACHINE in the environment of processes, so they are found even when every file of ours is lost.
std::unique_ptr<Provider> make_local(const Surroundings& here) {
  const fs::path kedged = here.variable("KEDGE_KEDGED").value_or((here.programs / "kedged").string());
  if (::access(kedged.c_str(), X_OK) != 0) return nullptr;
  return std::make_unique<Local>(kedged, here.state_directory / "local");
}

}   // namespace kedge::provisioning
