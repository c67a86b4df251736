// A gang of machines: all or none.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "provisioning/interrupt.h"
#include "provisioning/trial.h"

namespace kedge::provisioning {

// All machines of a gang: rows of all before the first launch, all launched before the first is waited for.
struct Controller::GangTrial {
  Controller& controller;
  const UpOptions& options;
  const Offer& offer;
  GangResult& result;
  std::vector<Trial> trials;
  std::string failure;
  bool machine_failed = false;
  std::optional<Failure> kind;
  double deadline = 0;   // of those that were launched last

  bool run();
  bool reserve();
  void make_cluster();
  void name_hosts();
  bool come_up();
  bool launch_and_boot(std::span<Trial> some);
  bool start(std::span<Trial> some);
  bool each(std::span<Trial> some, const char* name, const std::function<bool(Trial&)>& step);
  bool give_back(const std::string& why);
};

// Ranks compute on GPUs where the user wished some, one on each; else one rank has the cores of its machine.
void Controller::GangTrial::make_cluster() {
  const bool on_gpus = !options.wish.gpu.empty();
  const ClusterPart part{.key = options.new_host_key(),
                         .ranks = on_gpus ? std::max(1, offer.gpus) : 1,
                         .device = on_gpus ? "cuda" : "cpu",
                         .patience_s = std::max<std::int64_t>(options.lease.idle_s, options.boot_limit.count()),
                         .hosts = {}};
  for (Trial& trial : trials) trial.intent.cluster = part;
}

bool Controller::GangTrial::reserve() {
  const auto nodes = static_cast<std::size_t>(options.wish.nodes);
  result.members = std::vector<UpResult>(nodes);
  for (UpResult& member : result.members)
    trials.push_back({.controller = controller,
                      .provider = controller.require(offer.provider),
                      .options = options,
                      .result = member});
  const auto purse = controller.lock("spend");
  const auto lease = trials[0].affordable(offer, options.wish.nodes);
  if (!lease) return failure = trials[0].failure, false;
  for (Trial& trial : trials) {
    trial.write(offer, *lease);
    trial.intent.gang = trials[0].intent.id;
    trial.intent.nodes = options.wish.nodes;
  }
  if (options.wish.cluster) make_cluster();
  for (Trial& trial : trials) trial.keep();
  return true;
}

bool Controller::GangTrial::each(std::span<Trial> some, const char* name, const std::function<bool(Trial&)>& step) {
  for (Trial& trial : some) {
    const std::ptrdiff_t i = &trial - trials.data();
    const std::string what = *name == 'l' ? describe(offer) : trial.intent.machine;
    if (trial.phase(name, fmt::format("{} of {}: {}", i + 1, trials.size(), what), [&] { return step(trial); }))
      continue;
    failure = fmt::format("machine {} of {}: {}", i + 1, trials.size(), trial.failure);
    machine_failed = trial.machine_failed;
    kind = trial.kind;
    return false;
  }
  return true;
}

// A row whose launch was never called has no machine. false: some have not ended yet.
bool Controller::GangTrial::give_back(const std::string& why) {
  std::vector<Intent> made;
  for (const Trial& trial : trials) {
    if (!controller.store_.find(trial.intent.id)) continue;
    if (trial.is_called) made.push_back(trial.intent);
    else controller.store_.remove(trial.intent.id);
  }
  return controller.end_all(made, why);
}

bool Controller::GangTrial::launch_and_boot(std::span<Trial> some) {
  if (!each(some, "launch", [](Trial& trial) { return trial.launch(); })) return false;
  deadline = controller.clock_.steady_seconds() + static_cast<double>(options.boot_limit.count());
  return each(some, "boot", [this](Trial& trial) { return trial.boot(deadline); });
}

bool Controller::GangTrial::start(std::span<Trial> some) {
  return each(some, "start", [this](Trial& trial) { return trial.start(deadline); });
}

// mpirun counts as its own host what has a name of this machine.
void Controller::GangTrial::name_hosts() {
  ClusterPart& head = trials[0].intent.cluster;
  trials[0].agents = std::span(trials).subspan(1);
  head.hosts = {fmt::format("localhost:{}", head.ranks)};
  for (const Trial& agent : trials[0].agents)
    head.hosts.push_back(fmt::format("{}:{}", agent.private_address, head.ranks));
  controller.store_.put(trials[0].intent);
}

// The settings of a cluster's head have the addresses of its agents, so it comes after them.
bool Controller::GangTrial::come_up() {
  const std::span<Trial> all(trials);
  if (!options.wish.cluster) return launch_and_boot(all) && start(all);
  if (!launch_and_boot(all.subspan(1))) return false;
  name_hosts();
  return launch_and_boot(all.first(1)) && start(all.first(1));
}

bool Controller::GangTrial::run() {
  if (!come_up()) {
    if (!give_back("another machine of its gang failed"))
      failure += "\n    the others were told to end, and not all have ended: `kedge machines gc` continues with them";
    return false;
  }
  throw_if_interrupted();
  for (Trial& trial : trials) trial.run_from_now();
  return true;
}

GangResult Controller::up_gang(const UpOptions& options) {
  check_gang(options.wish);
  const Catalogue catalogue = offers(options.wish);
  const Selection selection = select(options.wish, catalogue.offers);
  GangResult result;
  std::set<std::string> useless;
  int tried = 0, dead = 0;
  for (const Offer& offer : selection.order) {
    if (useless.contains(offer.provider)) continue;
    if (tried++ == kMostAttempts || dead == kMostDeadMachines) break;
    GangTrial gang{.controller = *this, .options = options, .offer = offer, .result = result};
    try {
      if (gang.reserve() && gang.run()) return result;
    } catch (const schema::Error& error) {
      const bool is_interrupt = error.code == schema::ErrorCode::kCancelled;
      if (is_interrupt) forget_interrupt();
      const bool is_gone = gang.give_back(is_interrupt ? "interrupted" : error.what());
      if (!is_interrupt) throw;
      throw schema::Error(schema::ErrorCode::kCancelled,
                          is_gone ? "interrupted: all machines of the gang have ended"
                                  : "interrupted: `kedge machines gc` continues with the end of the gang");
    }
    if (gang.kind == Failure::kAuth) useless.insert(offer.provider);
    dead += gang.machine_failed;
    result.attempts.push_back({offer, gang.failure});
  }
  nothing_rented(options, selection, catalogue, std::move(result.attempts));
}

}   // namespace kedge::provisioning
