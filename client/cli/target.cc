// The order in which servers are looked for.
#include "client/cli/target.h"

#include <fmt/core.h>

#include <cstdlib>

#include "client/cli/rental.h"
#include "client/cli/server_list.h"
#include "provisioning/clock.h"
#include "provisioning/store.h"

namespace kedge::cli {
namespace {

constexpr std::string_view kKept = "server:";   // machines' names begin with "kedge-"

provisioning::IntentStore machine_store() {
  return provisioning::IntentStore(provisioning::default_state_directory());
}

bool is_named(const Options& options) {
  const char* from_environment = std::getenv("KEDGE_URL");
  return !options.server.empty() || !options.url.empty() || (from_environment && *from_environment);
}

// The current machine, when neither an option nor the environment names a server.
std::optional<provisioning::Intent> current_machine(const Options& options) {
  if (is_named(options)) return std::nullopt;
  const provisioning::IntentStore store = machine_store();
  const std::string id = store.current();
  auto machine = id.empty() || id.starts_with(kKept) ? std::nullopt : store.find(id);
  if (machine && machine->address.empty())   // kept after a Ctrl-C, before it had come up
    throw schema::Error(schema::ErrorCode::kUnavailable,
                        fmt::format("where {} answers is not known yet: `kedge machines` looks", id));
  return machine;
}

// The kept server that --server names, or else the current one.
std::optional<KeptServer> kept_server(const Options& options) {
  const std::string name = !options.server.empty() ? options.server : is_named(options) ? "" : current_kept_server();
  if (name.empty()) return std::nullopt;
  return ServerList().find(name);
}

// The SDK takes the pin from where every client finds it.
Session connect_pinned(const std::string& url, const std::string& token, const std::string& pin) {
  if (!pin.empty()) ::setenv("KEDGE_PIN", pin.c_str(), 1);
  return connect(url, token);
}

void renew(provisioning::Intent machine) {
  provisioning::SystemClock clock;
  machine.lease.renewed = clock.unix_seconds();
  machine_store().put(machine);
}

}   // namespace

Session connect_server(const Options& options) {
  if (const auto kept = kept_server(options)) return connect_pinned(kept->url, kept->token, kept->pin);
  if (const auto machine = current_machine(options)) {
    renew(*machine);
    return connect_pinned(machine->url(), machine->identity.token, machine->identity.pin);
  }
  return connect_pinned(options.url, options.token, options.pin);
}

// The pin of one server is not for the next.
Session connect_kept(const std::string& name) {
  const KeptServer kept = ServerList().find(name);
  const char* const given = std::getenv("KEDGE_PIN");
  const std::string before = given ? given : "";
  const Session session = connect_pinned(kept.url, kept.token, kept.pin);
  before.empty() ? ::unsetenv("KEDGE_PIN") : ::setenv("KEDGE_PIN", before.c_str(), 1);
  return session;
}

std::string server_url(const Options& options) {
  if (const auto kept = kept_server(options)) return kept->url;
  if (const auto machine = current_machine(options)) return machine->url();
  const char* from_environment = std::getenv("KEDGE_URL");
  return !options.url.empty()                    ? options.url
         : from_environment && *from_environment ? from_environment
                                                 : "http://127.0.0.1:5334";
}

bool speaks_to_current_machine(const Options& options) try {
  return current_machine(options).has_value();
} catch (const schema::Error&) {   // where that cannot be known
  return false;
}

std::string current_machine_name() {
  const std::string name = machine_store().current();
  return name.starts_with(kKept) ? "" : name;
}
std::string current_kept_server() {
  const std::string name = machine_store().current();
  return name.starts_with(kKept) ? name.substr(kKept.size()) : "";
}
void use_kept_server(const std::string& name) {
  machine_store().set_current(std::string(kKept) + name);
}
void use_machine(const std::string& id) {
  machine_store().set_current(id);
}

std::string hidden_by_environment(const std::string& name) {
  const char* url = std::getenv("KEDGE_URL");
  if (!url || !*url) return {};
  return fmt::format("KEDGE_URL is {}, so commands go there and not to {}: `unset KEDGE_URL` changes that", url, name);
}

std::string cost_line(const Options& options) {
  const auto machine = current_machine(options);
  if (!machine) return {};
  const std::int64_t now = provisioning::SystemClock().unix_seconds();
  if (options.json) return cost_json(*machine, now);
  return fmt::format("cost so far {:.4f} USD: {} {} for {} min", cost_so_far(*machine, now), machine->offer.provider,
                     machine->offer.id, (now - machine->created) / 60);
}

}   // namespace kedge::cli
