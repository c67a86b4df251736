// The order in which servers are looked for.
#include "client/cli/target.h"

#include <fmt/core.h>

#include <cstdlib>

#include "client/cli/rental.h"
#include "provisioning/clock.h"
#include "provisioning/store.h"

namespace kedge::cli {
namespace {

// The current machine, when neither an option nor the environment names a server.
std::optional<provisioning::Intent> current_machine(const Options& options) {
  if (!options.url.empty() || std::getenv("KEDGE_URL")) return std::nullopt;
  const provisioning::IntentStore store(provisioning::default_state_directory());
  const std::string id = store.current();
  auto machine = id.empty() ? std::nullopt : store.find(id);
  if (machine && machine->address.empty())   // kept after a Ctrl-C, before it had come up
    throw schema::Error(schema::ErrorCode::kUnavailable, fmt::format("where {} answers is not known yet: `kedge machines` looks", id));
  return machine;
}

// The SDK takes the pin from where every client finds it.
Session connect_pinned(const std::string& url, const std::string& token, const std::string& pin) {
  if (!pin.empty()) ::setenv("KEDGE_PIN", pin.c_str(), 1);
  return connect(url, token);
}

void renew(provisioning::Intent machine) {
  provisioning::SystemClock clock;
  machine.lease.renewed = clock.unix_seconds();
  provisioning::IntentStore(provisioning::default_state_directory()).put(machine);
}

}  // namespace

Session connect_server(const Options& options) {
  if (const auto machine = current_machine(options)) {
    renew(*machine);
    return connect_pinned(machine->url(), machine->identity.token, machine->identity.pin);
  }
  return connect_pinned(options.url, options.token, options.pin);
}

std::string server_url(const Options& options) {
  if (const auto machine = current_machine(options)) return machine->url();
  const char* from_environment = std::getenv("KEDGE_URL");
  return !options.url.empty() ? options.url : from_environment ? from_environment : "http://127.0.0.1:5334";
}

bool speaks_to_current_machine(const Options& options) {
  return current_machine(options).has_value();
}

std::string cost_line(const Options& options) {
  const auto machine = current_machine(options);
  if (!machine) return {};
  const std::int64_t now = provisioning::SystemClock().unix_seconds();
  if (options.json) return cost_json(*machine, now);
  return fmt::format("cost so far {:.4f} USD: {} {} for {} min", cost_so_far(*machine, now), machine->offer.provider, machine->offer.id,
                     (now - machine->created) / 60);
}

}  // namespace kedge::cli
