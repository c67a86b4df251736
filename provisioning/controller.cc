// Ends, lists and sweeps machines. controller_up.cc rents them.
#include "provisioning/controller.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "provisioning/http/client.h"
#include "provisioning/json.h"

namespace kedge::provisioning {

Controller::Controller(IntentStore& store, std::span<const std::unique_ptr<Provider>> providers, Clock& clock, Probe probe,
                       std::function<void(const Phase&)> report, ControllerTimes times)
    : store_(store), providers_(providers), clock_(clock), probe_(std::move(probe)), report_(std::move(report)), times_(times) {}

void Controller::say(const Phase& phase) const {
  if (report_) report_(phase);
}

Provider* Controller::find(const std::string& name) const {
  for (const auto& provider : providers_)
    if (provider->name() == name) return provider.get();
  return nullptr;
}

Provider& Controller::require(const std::string& name) const {
  if (Provider* provider = find(name)) return *provider;
  throw ProviderError(Failure::kAuth, name, "there are no credentials, so its machines can be neither seen nor ended");
}

Catalogue Controller::offers(const Wish& wish) {
  Catalogue catalogue;
  for (const auto& provider : providers_) {
    if (!wish.provider.empty() && provider->name() != wish.provider) continue;
    try {
      std::ranges::move(provider->offers(wish), std::back_inserter(catalogue.offers));
    } catch (const ProviderError& error) {
      catalogue.problems.emplace_back(error.what());
    }
  }
  return catalogue;
}

// "Not there" is believed once the provider has shown the machine, or long enough after the launch for every list to show it.
bool Controller::gone(const Intent& intent, const std::optional<Machine>& machine) {
  return !machine && (intent.seen || clock_.unix_seconds() - intent.created > require(intent.offer.provider).settle().count());
}

std::optional<Machine> Controller::look_up(Provider& provider, const std::string& id) {
  for (Machine& machine : provider.list_owned(store_.owner()))
    if (machine.name == id) return machine;
  return std::nullopt;
}

// Removes the row of a machine that is gone, after what was made with it. false: that could not be removed yet.
bool Controller::forget(const Intent& intent, Provider& provider) {
  try {
    provider.cleanup(intent);
  } catch (const ProviderError& error) {
    if (error.failure == Failure::kAuth) throw;
    return false;
  }
  if (intent.seen) store_.add_to_ledger(intent, clock_.unix_seconds());
  store_.remove(intent.id);
  return true;
}

bool Controller::end(Intent intent, const std::string& why, std::chrono::seconds limit) {
  Provider& provider = require(intent.offer.provider);
  if (intent.stage != Stage::kEnding || intent.note.empty()) {
    intent.stage = Stage::kEnding;
    intent.ended = clock_.unix_seconds();
    intent.note = why;
    store_.put(intent);
  }
  const double deadline = clock_.steady_seconds() + static_cast<double>(limit.count());
  std::chrono::milliseconds wait = kFirstPoll;
  while (true) {
    try {
      std::optional<Machine> machine;
      if (intent.machine.empty()) {
        machine = look_up(provider, intent.id);
        if (machine) intent.machine = machine->id;
      } else {
        machine = provider.describe(intent);
      }
      if (machine && !intent.seen) {
        intent.seen = true;
        store_.put(intent);
      }
      if (gone(intent, machine) && forget(intent, provider)) return true;
      // Repeated each time: some refuse it while the machine is still being made, some say yes and do nothing.
      if (!intent.machine.empty()) provider.terminate(intent);
    } catch (const ProviderError& error) {
      if (error.failure == Failure::kAuth) throw;
    }
    if (clock_.steady_seconds() >= deadline) return false;
    clock_.sleep(wait);
    wait = std::min(2 * wait, times_.poll);
  }
}

std::vector<MachineRow> Controller::machines() {
  std::vector<MachineRow> rows;
  for (Intent& intent : store_.list().intents) {
    MachineRow row{std::move(intent), std::nullopt, {}};
    try {
      Provider& provider = require(row.intent.offer.provider);
      row.machine = row.intent.machine.empty() ? look_up(provider, row.intent.id) : provider.describe(row.intent);
      if (row.machine && row.intent.stage == Stage::kRunning && row.intent.address.empty() && !row.machine->address.empty()) {
        row.intent.address = row.machine->address;
        row.intent.port = row.machine->port;
        store_.put(row.intent);
      }
    } catch (const ProviderError& error) {
      row.problem = error.what();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void Controller::note_end(const Intent& intent, const std::string& why, Swept& swept) {
  const std::string line = fmt::format("{} ({} {}): {}", intent.id, intent.offer.provider, intent.offer.id, why);
  // Of a launch that has left no trace there is nothing to wait for: the row stays until every list would show the machine.
  const bool traced = intent.seen || !intent.machine.empty() || look_up(require(intent.offer.provider), intent.id);
  const bool done = end(intent, why, traced ? times_.sweep_limit : std::chrono::seconds(0));
  (done ? swept.ended : swept.pending).push_back(line);
}

// The intent itself where it is alone.
std::vector<Intent> Controller::gang_of(const Intent& intent) const {
  if (intent.gang.empty()) return {intent};
  std::vector<Intent> members;
  for (Intent& other : store_.list().intents)
    if (other.gang == intent.gang) members.push_back(std::move(other));
  return members;
}

// A gang is wanted while all its rows are there and say that they run: the last of them to say so was what made it one.
std::string Controller::reason_to_end_gang(const Intent& intent) const {
  if (intent.gang.empty()) return {};
  const std::vector<Intent> members = gang_of(intent);
  if (std::ssize(members) < intent.nodes) return "its gang is not whole: a machine of it has ended";
  if (!std::ranges::all_of(members, [](const Intent& member) { return member.stage == Stage::kRunning; }))
    return "its gang is not whole: a machine of it does not run";
  return {};
}

// All get the call that ends them, then each is waited for.
bool Controller::end_all(const std::vector<Intent>& intents, const std::string& why) {
  bool all = true;
  for (const std::chrono::seconds limit : {std::chrono::seconds(0), times_.end_limit}) {
    all = true;
    for (const Intent& intent : intents) {
      const auto fresh = store_.find(intent.id);
      if (!fresh) continue;
      try {
        all = end(*fresh, why, limit) && all;
      } catch (const ProviderError&) {   // its row stays for the sweeper
        all = false;
      }
    }
    if (all) return true;
  }
  return all;
}

bool Controller::end_gang(const std::string& gang, const std::string& why) {
  return end_all(gang_of({.id = gang, .gang = gang}), why);
}

// Why the machine of a row that no process works on must end, or empty.
std::string Controller::reason_to_end(Intent& intent) {
  if (intent.stage == Stage::kEnding) return intent.note;
  if (intent.stage == Stage::kLaunching) return "the program that rented it was killed";
  if (intent.one_job) return "the program that used it was killed";
  if (std::string reason = reason_to_end_gang(intent); !reason.empty()) return reason;
  const std::int64_t now = clock_.unix_seconds();
  const std::vector<Intent> members = gang_of(intent);   // which have one lease: the use of one is the use of all
  for (const Intent& member : members) intent.lease.renewed = std::max(intent.lease.renewed, member.lease.renewed);
  switch (lease_state(intent.lease, intent.created, now)) {
    case LeaseState::kHolds:
      return {};
    case LeaseState::kLifeOver:
      return "its life is over";
    case LeaseState::kIdleOver:
      break;
  }
  if (std::ranges::none_of(members, [this](const Intent& member) { return !member.is_agent() && probe_(member).busy; }))
    return "it is not used";
  intent.lease.renewed = now;
  store_.put(intent);
  return {};
}

void Controller::sweep_row(Intent intent, Swept& swept) {
  const auto held = store_.try_lock(intent.id);
  if (!held) return;                           // another process works on it
  const auto fresh = store_.find(intent.id);   // it may have changed before we had the lock
  if (!fresh) return;
  intent = *fresh;
  Provider& provider = require(intent.offer.provider);
  if (const std::string reason = reason_to_end(intent); !reason.empty()) return note_end(intent, reason, swept);
  const auto machine = provider.describe(intent);
  if (gone(intent, machine) && forget(intent, provider)) swept.ended.push_back(intent.id + ": it had ended by itself");
  // Stopped, and still there: of no use, and often paid for.
  if (machine && machine->state == MachineState::kEnding) note_end(intent, "it had ended by itself", swept);
}

Intent Controller::record(const Provider& provider, const Machine& machine, const std::string& why) {
  Intent intent{.id = machine.name, .stage = Stage::kEnding, .machine = machine.id, .seen = true};
  intent.offer.provider = provider.name();
  intent.offer.region = machine.region;
  intent.created = intent.ended = clock_.unix_seconds();
  intent.note = why;
  store_.put(intent);
  return intent;
}

std::optional<Intent> Controller::claim(const std::string& id) {
  if (!store_.is_ours(id)) return std::nullopt;
  std::optional<ProviderError> problem;
  for (const auto& provider : providers_) {
    try {
      if (const auto machine = look_up(*provider, id)) return record(*provider, *machine, "kedge down");
    } catch (const ProviderError& error) {
      problem = error;
    }
  }
  if (problem) throw *problem;
  return std::nullopt;
}

void Controller::sweep_provider(Provider& provider, Swept& swept) {
  for (const Machine& machine : provider.list_owned(store_.owner())) {
    // The row is looked for after the list was made: it is written before the launch.
    if (!store_.is_ours(machine.name) || store_.find(machine.name)) continue;
    if (store_.named_here(machine.name)) record(provider, machine, "there was no record of it");
    else swept.others.push_back(fmt::format("{} ({}, {})", machine.name, provider.name(), machine.detail));
  }
  const auto sweep_rows = [&](const auto& is_wanted) {
    for (const Intent& intent : store_.list().intents) {
      if (intent.offer.provider != provider.name() || !is_wanted(intent)) continue;
      try {
        sweep_row(intent, swept);
      } catch (const ProviderError& error) {
        swept.problems.push_back(fmt::format("{}: {}", intent.id, error.what()));
      }
    }
  };
  sweep_rows([](const Intent&) { return true; });
  // What ended there may have been of a gang whose other machines came before it.
  sweep_rows(
      [this](const Intent& intent) { return intent.stage == Stage::kRunning && !reason_to_end_gang(intent).empty(); });
}

Swept Controller::sweep() {
  Swept swept;
  for (const std::string& file : store_.list().damaged)
    swept.problems.push_back(fmt::format("{} was damaged and is set aside; its machine is looked for by name", file));
  for (const auto& provider : providers_) {
    try {
      sweep_provider(*provider, swept);
    } catch (const ProviderError& error) {
      swept.problems.emplace_back(error.what());
    }
  }
  for (const Intent& intent : store_.list().intents)
    if (!find(intent.offer.provider))
      swept.problems.push_back(
          fmt::format("{}: there are no credentials for {} to look for it", intent.id, intent.offer.provider));
  return swept;
}

std::string attempts_table(const std::vector<Attempt>& attempts) {
  std::string table;
  for (const auto& [offer, outcome] : attempts)
    table += fmt::format("  {:<11}{:<28}{:<16}{:<10}{:>8.3f} USD/h  {}\n", offer.provider, offer.id, offer.region,
                         offer.spot ? "spot" : "on-demand", offer.price_usd_per_hour, outcome);
  return table;
}

namespace {

// What /v1/info says about devices. A server takes jobs before it has listed them, and names none until then.
void read_devices(const json::Value& info, Readiness& readiness) {
  const auto& devices = json::list(info, "devices");
  readiness.looking = devices.empty();
  bool has_device = false, has_gpu = false;
  for (const json::Value& device : devices) {
    const std::string id = json::text(device, "id"), missing = json::text(device, "missing");
    const bool is_gpu = id.starts_with("cuda");
    has_device = has_device || missing.empty();
    has_gpu = has_gpu || (is_gpu && missing.empty());
    if (is_gpu) readiness.no_gpu = missing;
    readiness.no_device += fmt::format("{}{}: {}", readiness.no_device.empty() ? "" : "; ", id, missing);
  }
  if (has_device) readiness.no_device.clear();
  if (has_gpu) readiness.no_gpu.clear();
}

// Of a head of a cluster. An entry without memory is the one of the settings: the ranks have not come together. Why
// they do not is listed after three attempts, and the server goes on trying. Ranks on GPUs have shown that these can be
// used, which no other worker there may.
void read_ranks(const json::Value& info, const ClusterPart& cluster, Readiness& readiness) {
  constexpr std::string_view kTriesOn = "its worker does not start";
  std::string missing = "it has no device of this name";
  bool have_come = false;
  for (const json::Value& device : json::list(info, "devices")) {
    if (json::text(device, "id") != "cluster") continue;
    missing = json::text(device, "missing");
    have_come = json::number(device, "memoryBytes") > 0;
  }
  if (cluster.device == "cuda") readiness.no_gpu.clear();
  if (readiness.looking || (missing.empty() && have_come)) return;
  readiness.problem = "its ranks have not come together" + (missing.empty() ? "" : ": " + missing);
  readiness.looking = missing.empty() || missing.starts_with(kTriesOn);
  if (!readiness.looking) readiness.no_device = "cluster: " + missing;
}

}   // namespace

Probe https_probe(http::Client& client) {
  return [&client](const Intent& intent) {
    Readiness readiness;
    http::Request request{.url = intent.url() + "/v1/info", .timeout = std::chrono::seconds(5), .pin = intent.identity.pin};
    request.headers.emplace_back("Authorization", "Bearer " + intent.identity.token);
    try {
      const http::Response info = client.send(request);
      const json::Value body = json::parse(info.body);
      readiness.version = json::text(body, "version");
      read_devices(body, readiness);
      if (intent.is_clustered()) read_ranks(body, intent.cluster, readiness);
      readiness.ready = info.status == 200 && !readiness.version.empty();
      readiness.hopeless = info.status == 401 || info.status == 403;
      if (!readiness.ready) readiness.problem = fmt::format("{} answers {}", request.url, info.status);
      if (!readiness.ready) return readiness;
      request.url = intent.url() + "/v1/jobs?state=running&pageSize=1";
      readiness.busy = !json::list(json::parse(client.send(request).body), "jobs").empty();
    } catch (const ProviderError& error) {
      readiness.problem = error.words;
    }
    return readiness;
  };
}

}   // namespace kedge::provisioning
