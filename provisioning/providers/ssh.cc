// Machines that the user has, reached with the ssh command.
// Server processes on machines of the user's, each in a directory named by its intent.
#include "provisioning/providers.h"

#include <fmt/core.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "crypto/digest.h"
#include "provisioning/bootstrap.h"
#include "provisioning/process.h"
#include "provisioning/providers/gpus.h"
#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace fs = std::filesystem;
namespace {

constexpr const char* kHome = "${XDG_STATE_HOME:-$HOME/.local/state}/kedge/remote";   // on the host

// Finds the processes of one machine by the variable in their environment, as providers/local.cc does: survives lost files.
constexpr const char* kFind = R"(kedge_pids() {
  for p in /proc/[0-9]*; do
    read -r name <"$p/comm" 2>/dev/null || continue
    case $name in kedged|kedge-worker) tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qx "KEDGE_MACHINE=$1" && echo "${p#/proc/}";; esac
  done
}
)";

class Ssh final : public Provider {
 public:
  Ssh(std::vector<std::string> hosts, std::string config, fs::path programs)
      : hosts_(std::move(hosts)), config_(std::move(config)), programs_(std::move(programs)) {}
  std::string_view name() const override { return "ssh"; }
  std::string_view fuse() const override { return "timeout(1) on the host ends the server after its life"; }

  std::chrono::seconds settle() const override { return std::chrono::seconds(5); }   // processes are seen at once

  std::vector<Offer> offers(const Wish&) override {
    std::vector<Offer> offers;
    for (const std::string& host : hosts_) {
      Offer offer{.provider = "ssh", .id = host, .region = "ssh", .price_source = "live"};
      std::istringstream answer(script(host, "nproc; nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null || true\n"));
      std::string line;
      std::getline(answer, line);
      offer.cpus = std::atoi(line.c_str());
      const auto gpus = gpus_from(std::string(std::istreambuf_iterator<char>(answer), {}));
      if (!gpus.empty()) offer.gpu = gpus.front(), offer.gpus = static_cast<int>(gpus.size());
      offers.push_back(std::move(offer));
    }
    return offers;
  }

  Machine launch(const Intent& intent) override {
    const std::string& host = intent.offer.id;
    const std::string kedged = find_or_copy_programs(host);
    std::string text = fmt::format("set -eu\numask 077\nhome=\"{}/{}\"\nmkdir -p \"$home\"\n", kHome, intent.id);
    for (const auto& [name, value] : server_settings(intent, "0.0.0.0:0"))
      text += fmt::format("export {}={}\n", name, shell_quote(value));
    text += fmt::format(
        "export KEDGE_DATA_DIR=\"$home/data\" KEDGE_PORT_FILE=\"$home/port\"\n"
        "setsid nohup timeout --kill-after=30 {} {} </dev/null >\"$home/log\" 2>&1 &\n",
        intent.lease.life_s + kFuseSlack_s, kedged);
    script(host, text);
    return {.id = host, .name = intent.id};
  }

  std::optional<Machine> describe(const Intent& intent) override {
    const std::string answer = script(
        intent.offer.id, fmt::format("{}kedge_pids {} | head -n 1 | sed 's/^/pid /'\ncat \"{}/{}/port\" 2>/dev/null || true\n",
                                     kFind, intent.id, kHome, intent.id));
    if (!answer.starts_with("pid ")) return std::nullopt;
    Machine machine{.id = intent.offer.id,
                    .name = intent.id,
                    .state = MachineState::kRunning,
                    .detail = "process " + answer.substr(4, answer.find('\n') - 4)};
    machine.port = std::atoi(answer.c_str() + std::min(answer.find('\n') + 1, answer.size()));
    if (machine.port > 0) machine.address = host_name(intent.offer.id);
    return machine;
  }

  void terminate(const Intent& intent) override {
    script(intent.offer.id,
           fmt::format("{}pids=$(kedge_pids {})\n[ -z \"$pids\" ] || kill $pids 2>/dev/null || true\n", kFind, intent.id));
  }

  std::vector<Machine> list_owned(const std::string& owner) override {
    std::vector<Machine> machines;
    for (const std::string& host : hosts_) {
      std::istringstream names(
          script(host,
                 "for p in /proc/[0-9]*; do read -r n <\"$p/comm\" 2>/dev/null && [ \"$n\" = kedged ] && tr '\\0' '\\n' "
                 "<\"$p/environ\" 2>/dev/null | sed -n 's/^KEDGE_MACHINE=//p'; done; true\n"));
      for (std::string name; std::getline(names, name);)
        if (name.starts_with(name_prefix(owner)))
          machines.push_back({.id = host, .name = name, .state = MachineState::kRunning, .detail = "process"});
    }
    return machines;
  }

  void cleanup(const Intent& intent) override {
    if (!intent.offer.id.empty()) script(intent.offer.id, fmt::format("rm -rf \"{}/{}\"\n", kHome, intent.id));
  }

  std::string log(const Intent& intent) override {
    return script(intent.offer.id, fmt::format("tail -n 20 \"{}/{}/log\"\n", kHome, intent.id));
  }

 private:
  std::vector<std::string> command(const std::string& host) const {
    std::vector<std::string> arguments{
        "ssh", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "ConnectTimeout=10"};
    if (!config_.empty()) arguments.insert(arguments.end(), {"-F", config_});
    arguments.push_back(host);
    return arguments;
  }

  // Runs a script, which ssh gets on its stdin: secrets are in no argument list.
  std::string script(const std::string& host, const std::string& text) const {
    auto arguments = command(host);
    arguments.emplace_back("sh -s");
    return checked(host, run_program(arguments, text, std::chrono::seconds(60)));
  }

  static std::string checked(const std::string& host, const Outcome& outcome) {
    if (outcome.status == 0) return outcome.out;
    std::string words = complaint(outcome);
    const bool refused = mentions(words, {"permission denied", "host key verification failed", "key is known"});
    if (mentions(words, {"host key verification failed"})) words += "; connect once by hand, look at the key, and try again";
    const bool network = outcome.status == 255 || outcome.timed_out;
    throw ProviderError(refused   ? Failure::kAuth
                        : network ? Failure::kRetryLater
                                  : Failure::kFatal,
                        "ssh " + host, words, 0, network && !refused);
  }

  std::string host_name(const std::string& host) const {
    auto arguments = command(host);
    arguments.insert(arguments.begin() + 1, "-G");
    std::istringstream lines(run_program(arguments).out);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("hostname ")) return line.substr(9);
    return host;
  }

  // The shell words that start kedged on the host.
  std::string find_or_copy_programs(const std::string& host) const {
    if (script(host, "command -v kedged >/dev/null && command -v kedge-worker >/dev/null && echo yes || true\n") == "yes\n")
      return "kedged";
    const std::string folder = fmt::format("{}/programs-{}", kHome, KEDGE_VERSION);
    for (const char* program : {"kedge-worker", "kedged"}) {
      std::ifstream file(programs_ / program, std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      if (bytes.empty())
        throw ProviderError(Failure::kFatal, "ssh " + host,
                            fmt::format("has no {} on its PATH, and there is none in this program's folder", program));
      auto arguments = command(host);
      arguments.push_back(
          fmt::format("f=\"{0}/{1}\"; mkdir -p \"{0}\" && if [ \"$(sha256sum <\"$f\" 2>/dev/null | cut -c1-64)\" = {2} ]; then "
                      "cat >/dev/null; else cat >\"$f.$$\" && "
                      "chmod 700 \"$f.$$\" && mv \"$f.$$\" \"$f\"; fi",
                      folder, program, crypto::sha256_hex(bytes)));
      checked(host, run_program(arguments, bytes, std::chrono::seconds(600)));
    }
    return "\"" + folder + "/kedged\"";
  }

  std::vector<std::string> hosts_;
  std::string config_;
  fs::path programs_;
};

}   // namespace

// Set up by KEDGE_SSH_HOSTS: "user@host,other", as ssh takes them; KEDGE_SSH_CONFIG names a file for ssh -F. The host's
// key must be known already. The server's programs are those on the host's PATH, or are copied there from this
// program's folder.
std::unique_ptr<Provider> make_ssh(const Surroundings& here) {
  const auto list = here.variable("KEDGE_SSH_HOSTS");
  if (!list || !on_path("ssh")) return nullptr;
  std::vector<std::string> hosts;
  std::istringstream stream(*list);
  for (std::string host; std::getline(stream, host, ',');)
    if (!host.empty() && !host.starts_with('-')) hosts.push_back(host);
  return std::make_unique<Ssh>(std::move(hosts), here.variable("KEDGE_SSH_CONFIG").value_or(""), here.programs);
}

}   // namespace kedge::provisioning
