// Servers by name.
#include "client/cli/server_list_commands.h"

#include <fmt/core.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "client/cli/server_list.h"
#include "client/cli/target.h"
#include "kedge/session.h"
#include "provisioning/store.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

using schema::ErrorCode;
using schema::ValueMap;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// "gpu.example" of "https://gpu.example:5334/". Errors: kInvalidValue for what is no address.
std::string host_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const bool is_web = url.starts_with("http://") || url.starts_with("https://");
  std::string host = is_web ? url.substr(scheme + 3) : "";
  host = host.substr(0, host.find('/'));
  if (host.starts_with('[')) host = host.substr(1, host.find(']') - 1);
  else host = host.substr(0, host.find(':'));
  if (host.empty())
    throw Error(
        ErrorCode::kInvalidValue,
        fmt::format("the address is '{}', must begin with http:// or https://, such as https://gpu.example:5334", url),
        "address");
  return host;
}

std::string default_name(const std::string& host) {
  std::string name = host;
  std::ranges::replace(name, ':', '.');   // an IPv6 address
  return name;
}

// A terminal that shows no letter and turns no key into a signal, as long as this lives: an interrupt must not leave it
// so.
class SilentTerminal {
 public:
  SilentTerminal() {
    tcgetattr(STDIN_FILENO, &before_);
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG | ICANON);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  ~SilentTerminal() { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_); }
  SilentTerminal(const SilentTerminal&) = delete;

 private:
  termios before_{};
};

// A line that the terminal does not show. Errors: kCancelled after Ctrl-C.
std::string ask_secretly(const char* question) {
  constexpr char kInterrupt = 3, kEnd = 4, kBackspace = 8, kDelete = 127;
  const SilentTerminal silent;
  fmt::print(stderr, "{}", question);
  std::string line;
  for (char key = 0; read(STDIN_FILENO, &key, 1) == 1 && key != '\n' && key != '\r' && key != kEnd;) {
    if (key == kInterrupt) {
      fmt::print(stderr, "\n");
      throw Error(ErrorCode::kCancelled, "interrupted: nothing was kept");
    }
    if (key != kBackspace && key != kDelete) line += key;
    else if (!line.empty()) line.pop_back();
  }
  fmt::print(stderr, "\n");
  return line;
}

std::string given_token(const Options& options) {
  std::string token = options.token_file.empty() ? environment("KEDGE_TOKEN") : "";
  if (!token.empty()) return token;
  const std::string path = !options.token_file.empty() ? options.token_file : environment("KEDGE_TOKEN_FILE");
  if (path.empty())
    return isatty(STDIN_FILENO) == 1 ? ask_secretly("Token (nothing for a server without tokens): ") : "";
  std::ifstream file(path);
  (path == "-" ? std::cin : file) >> token;
  if (token.empty())
    throw Error(ErrorCode::kInvalidValue, fmt::format("--token-file: there is no token in {}", path), "--token-file");
  return token;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

void print_choice(const KeptServer& server, const Options& options) {
  if (options.json)
    fmt::print("{}\n", schema::value_to_json(ValueMap{{"name", server.name}, {"url", server.url}, {"current", true}}));
  else fmt::print("{}  {}\n", server.name, server.url);
  if (const std::string hidden = hidden_by_environment(server.name); !hidden.empty())
    fmt::print(stderr, "warning: {}\n", hidden);
}

void print_row(bool is_current, const std::string& name, const std::string& url, const char* kind, bool has_token,
               bool has_pin, const Options& options) {
  if (options.json)
    fmt::print("{}\n", schema::value_to_json(ValueMap{{"name", name},
                                                      {"url", url},
                                                      {"kind", kind},
                                                      {"current", is_current},
                                                      {"token", has_token},
                                                      {"pin", has_pin}}));
  else
    fmt::print("{} {:<30} {:<40} {}{}{}\n", is_current ? '*' : ' ', name, url, kind, has_token ? ", token" : "",
               has_pin ? ", pinned" : "");
}

int list_servers(const Options& options) {
  const std::string kept = current_kept_server(), machine = current_machine_name();
  const ServerList servers;
  for (const KeptServer& server : servers.servers())
    print_row(server.name == kept, server.name, server.url, "kept", !server.token.empty(), !server.pin.empty(),
              options);
  for (const provisioning::Intent& intent :
       provisioning::IntentStore(provisioning::default_state_directory()).list().intents)
    if (!intent.is_agent()) print_row(intent.id == machine, intent.id, intent.url(), "rented", true, true, options);
  if (!options.json) fmt::print(stderr, "commands go to {}\n", server_url(options));
  return kSucceeded;
}

int use_nothing(const Options& options) {
  use_machine({});
  if (options.json)
    fmt::print("{}\n", schema::value_to_json(ValueMap{{"url", server_url(options)}, {"current", false}}));
  else fmt::print(stderr, "commands go to {}\n", server_url(options));
  return kSucceeded;
}

}   // namespace

int login(const Options& options) {
  const std::string host = host_of(options.argument);
  KeptServer server{.name = options.name.empty() ? default_name(host) : options.name,
                    .url = options.argument,
                    .token = given_token(options),
                    .pin = options.pin.empty() ? environment("KEDGE_PIN") : options.pin};
  check_server_name(server.name);
  while (server.url.ends_with('/')) server.url.pop_back();
  if (!server.pin.empty()) ::setenv("KEDGE_PIN", server.pin.c_str(), 1);
  const schema::ServerInfo info =
      connect(server.url, server.token).info();   // it answers, with that certificate and to that token
  if (server.url.starts_with("http://") && !server.token.empty() && !is_loopback(host))
    fmt::print(
        stderr,
        "warning: the token crosses the network in clear text, because the address does not begin with https://\n");
  ServerList servers;
  servers.put(server);
  use_kept_server(server.name);
  fmt::print(stderr, "kedge {} answers there; kept as '{}' in {}, and commands go there from now on\n", info.version,
             server.name, servers.file().string());
  print_choice(server, options);
  return kSucceeded;
}

int use(const Options& options) {
  if (options.none) return use_nothing(options);
  if (options.argument.empty()) return list_servers(options);
  if (const auto machine = provisioning::IntentStore(provisioning::default_state_directory()).find(options.argument)) {
    if (machine->is_agent())
      throw schema::Error(schema::ErrorCode::kInvalidValue,
                          fmt::format("{} has no server: it runs ranks for {}", machine->id, machine->gang), "server");
    use_machine(machine->id);
    print_choice({.name = machine->id, .url = machine->url()}, options);
    return kSucceeded;
  }
  const KeptServer server = ServerList().find(options.argument);
  use_kept_server(server.name);
  print_choice(server, options);
  return kSucceeded;
}

int logout(const Options& options) {
  ServerList().remove(options.argument);
  if (current_kept_server() == options.argument) use_machine({});
  if (options.json) fmt::print("{}\n", schema::value_to_json(ValueMap{{"removed", options.argument}}));
  else
    fmt::print(stderr, "'{}' is forgotten here; its token is valid until `kedged token revoke` ends it\n",
               options.argument);
  return kSucceeded;
}

}   // namespace kedge::cli
