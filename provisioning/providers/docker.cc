// Containers of the docker or podman on this machine.
// Machines that are containers: read-only, without capabilities, as their own user.
#include "provisioning/providers.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

#include "provisioning/bootstrap.h"
#include "provisioning/process.h"
#include "provisioning/providers/gpus.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

int free_port() {
  const int handle = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(handle, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(handle, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(handle);
  return ntohs(address.sin_port);
}

class Docker final : public Provider {
 public:
  Docker(std::string program, std::string network, bool podman)
      : program_(std::move(program)), network_(std::move(network)), podman_(podman) {}
  std::string_view name() const override { return "docker"; }
  std::string_view fuse() const override { return "none: the container ends with its server"; }

  std::chrono::seconds settle() const override { return std::chrono::seconds(5); }   // processes are seen at once

  std::vector<Offer> offers(const Wish&) override { return {offer_here("docker", "container")}; }

  // Secrets go through the environment of the docker command, not through its arguments, which every user can read.
  Machine launch(const Intent& intent) override {
    const bool host = network_ == "host";
    const int port = host ? free_port() : kServerPort;
    std::vector<std::string> arguments{
        program_,  "run",  "--detach",   "--name", intent.id,        "--label",           "kedge=" + intent.id, "--read-only",
        "--tmpfs", "/tmp", "--cap-drop", "ALL",    "--security-opt", "no-new-privileges", "--pids-limit",       "4096"};
    const auto add = [&](std::initializer_list<std::string> more) { arguments.insert(arguments.end(), more); };
    if (!network_.empty()) add({"--network", network_});
    if (!host) add({"--publish", fmt::format("127.0.0.1::{}", kServerPort)});
    // podman knows devices of the container device interface; before version 5 it took --gpus and did nothing.
    if (intent.offer.gpus > 0) podman_ ? add({"--device", "nvidia.com/gpu=all"}) : add({"--gpus", "all"});
    add({"--label", fmt::format("kedge-port={}", host ? port : 0)});
    for (const auto& [name, value] : server_settings(intent, fmt::format("{}:{}", host ? "127.0.0.1" : "0.0.0.0", port))) {
      add({"--env", name});
      secrets_.emplace_back(name, value);
    }
    add({intent.image.empty() ? fmt::format("kedge/server{}:{}", intent.offer.gpus > 0 ? "" : "-cpu", KEDGE_VERSION)
                              : intent.image});
    for (const auto& [name, value] : secrets_) ::setenv(name.c_str(), value.c_str(), 1);
    const Outcome outcome = run_program(arguments, {}, std::chrono::seconds(600));
    for (const auto& [name, value] : secrets_) ::unsetenv(name.c_str());
    secrets_.clear();
    if (outcome.status == 0) return {.id = intent.id, .name = intent.id};
    const bool conflict = mentions(outcome.err, {"is already in use"});
    throw ProviderError(failure_of(outcome), "docker: run", complaint(outcome), 0,
                        conflict || outcome.timed_out || created(intent));
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const std::string format =
        "{{.State.Status}}|{{index .Config.Labels \"kedge-port\"}}|{{(index (index .NetworkSettings.Ports \"5334/tcp\") "
        "0).HostPort}}";
    Outcome outcome = run_program({program_, "inspect", "--type", "container", "--format", format, intent.id});
    if (outcome.status != 0)   // an ended or host-networked container has no port: the template fails on it
      outcome = run_program({program_, "inspect", "--type", "container", "--format",
                             "{{.State.Status}}|{{index .Config.Labels \"kedge-port\"}}|", intent.id});
    if (outcome.status != 0 && mentions(outcome.err, {"no such", "not found"})) return std::nullopt;
    if (outcome.status != 0) throw ProviderError(failure_of(outcome), "docker: inspect", complaint(outcome));
    std::istringstream fields(outcome.out);
    std::string state, own_port, published;
    std::getline(fields, state, '|'), std::getline(fields, own_port, '|'), std::getline(fields, published);
    Machine machine{.id = intent.id, .name = intent.id, .detail = state};
    if (state == "running") machine.state = MachineState::kRunning, machine.address = "127.0.0.1";
    else if (state != "created" && state != "configured") machine.state = MachineState::kEnding;
    machine.port = std::atoi(own_port.c_str()) > 0 ? std::atoi(own_port.c_str()) : std::atoi(published.c_str());
    return machine;
  }

  void terminate(const Intent& intent) override {
    const Outcome outcome = run_program({program_, "rm", "--force", "--volumes", intent.id});
    if (outcome.status != 0 && !mentions(outcome.err, {"no such", "not found", "already in progress"}))
      throw ProviderError(failure_of(outcome), "docker: rm", complaint(outcome));
  }

  std::vector<Machine> list_owned(const std::string& owner) override {
    const Outcome outcome =
        run_program({program_, "ps", "--all", "--filter", "label=kedge", "--format", "{{.Names}}|{{.Status}}"});
    if (outcome.status != 0) throw ProviderError(failure_of(outcome), "docker: ps", complaint(outcome));
    std::vector<Machine> machines;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      const std::string name = line.substr(0, line.find('|'));
      if (name.starts_with(name_prefix(owner)))
        machines.push_back({.id = name, .name = name, .detail = line.substr(line.find('|') + 1)});
    }
    return machines;
  }

  std::string log(const Intent& intent) override {
    const Outcome outcome = run_program({program_, "logs", "--tail", "20", intent.id});
    return outcome.out + outcome.err;
  }

 private:
  static Failure failure_of(const Outcome& outcome) {
    return outcome.timed_out || mentions(outcome.err, {"cannot connect", "timeout", "connection refused"}) ? Failure::kRetryLater
                                                                                                           : Failure::kFatal;
  }
  bool created(const Intent& intent) { return run_program({program_, "inspect", "--type", "container", intent.id}).status == 0; }

  std::string program_, network_;
  bool podman_;
  Settings secrets_;
};

}   // namespace

// Set up where KEDGE_DOCKER names a program, or docker or podman is on the PATH and its engine answers.
// KEDGE_DOCKER_NETWORK=host for engines without a bridge.
std::unique_ptr<Provider> make_docker(const Surroundings& here) {
  std::string program = here.variable("KEDGE_DOCKER").value_or("");
  if (program.empty())
    for (const char* known : {"docker", "podman"})
      if (program.empty() && on_path(known)) program = known;
  if (program.empty()) return nullptr;
  const Outcome version = run_program({program, "version"}, {}, std::chrono::seconds(10));
  if (version.status != 0) return nullptr;
  const bool podman = mentions(program, {"podman"}) || mentions(version.out, {"podman"});   // often under the name docker
  return std::make_unique<Docker>(program, here.variable("KEDGE_DOCKER_NETWORK").value_or(""), podman);
}

}   // namespace kedge::provisioning
