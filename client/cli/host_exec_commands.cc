// Options of host-exec and host-agent.
#include "client/cli/host_exec_commands.h"

#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

#include "client/cli/report.h"
#include "client/host/agent.h"
#include "client/host/exec.h"
#include "client/host/key.h"
#include "client/host/words.h"
#include "schemas/error.h"

namespace kedge::cli {
namespace {

using schema::Error;
using schema::ErrorCode;

host::HostKey key_of(const Options& options) {
  if (options.file.empty())
    throw Error(ErrorCode::kInvalidValue, "--key is missing: the file of `kedge host-agent --new-key`", "--key");
  return host::read_host_key(options.file);
}

}   // namespace

void set_place(host::AgentOptions& agent, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), agent.port);
  if (problem != std::errc() || end != port.data() + port.size() || agent.port < 0 || agent.port > 65535)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("--listen is '{}', must be ADDRESS:PORT, :PORT or [ADDRESS]:PORT", text), "--listen");
  std::string address = text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  if (!address.empty()) agent.address = address;
}

// mpirun gives the command as ssh takes it: words that are joined with blanks and divided again on the other host.
int host_exec(const Options& options) {
  const host::HostKey key = key_of(options);
  if (options.arguments.size() < 2)
    throw Error(ErrorCode::kInvalidValue, "a host and a program are needed: kedge host-exec --key FILE HOST PROGRAM");
  std::string line;
  for (std::size_t i = 1; i < options.arguments.size(); ++i) line += options.arguments[i] + " ";
  return host::run_remotely({.host = options.arguments[0], .port = options.port, .words = host::shell_words(line)},
                            key);
}

int host_agent(const Options& options) {
  if (!options.new_key.empty()) {
    host::write_host_key(host::host_key_text(host::make_host_key()), options.new_key);
    print_text(fmt::format("{} is the key of the cluster: copy it to each host, readable for its owner alone\n",
                           options.new_key),
               options);
    return kSucceeded;
  }
  host::AgentOptions agent{.key = key_of(options),
                           .idle_end = std::chrono::seconds(std::llround(options.agent_idle_s)),
                           .life_end = std::chrono::seconds(std::llround(options.agent_life_s))};
  set_place(agent, options.listen);
  if (!options.allowed.empty()) agent.allowed = options.allowed;
  return host::run_agent(agent);
}

}   // namespace kedge::cli
