// From a wish to a server that answers: offer after offer, each with an intent of its own.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "provisioning/interrupt.h"
#include "provisioning/trial.h"

namespace kedge::provisioning {
namespace {

constexpr std::int64_t kSpendWindow_s = 30 * 24 * 3600;

// The offers with the requested GPU, cheapest first, and why each was not tried.
std::vector<Attempt> not_tried(const Wish& wish, const Selection& selection) {
  constexpr std::size_t kMost = 12;
  std::vector<Attempt> rows;
  for (const auto& [offer, reason] : selection.refused)
    if (rows.size() < kMost && (wish.gpu.empty() || offer.gpu == canonical_gpu(wish.gpu))) rows.push_back({offer, reason});
  return rows;
}

}   // namespace

double Controller::committed() const {
  double sum = store_.spent_since(clock_.unix_seconds() - kSpendWindow_s);
  for (const Intent& intent : store_.list().intents) sum += cost_at_most(intent);
  return sum;
}

std::shared_ptr<void> Controller::lock(const std::string& id) const {
  constexpr int kTries = 200;
  for (int i = 0; i < kTries; ++i) {
    if (auto held = store_.try_lock(id)) return held;
    clock_.sleep(std::chrono::milliseconds(50));
  }
  throw schema::Error(schema::ErrorCode::kConflict, fmt::format("another kedge works on {}", id));
}

// The lease that the caps leave to `nodes` machines; the purse is locked.
std::optional<Lease> Controller::Trial::affordable(const Offer& offer, int nodes) {
  std::optional<double> most = options.max_spend;
  if (options.spend_cap) {
    const double left = *options.spend_cap - controller.committed();
    most = std::min(most.value_or(left), left);
  }
  if (!most) return options.lease;
  const auto lease = within_spend(options.lease, offer.price_usd_per_hour * nodes, *most);
  if (!lease)
    failure =
        fmt::format("{:.2f} USD are left to spend, too little for {}", *most, nodes == 1 ? "a machine" : "a gang");
  return lease;
}

void Controller::Trial::write(const Offer& offer, const Lease& lease) {
  intent = {.id = controller.store_.new_id(),
            .offer = offer,
            .image = options.image,
            .one_job = options.one_job,
            .lease = lease};
  intent.created = intent.lease.renewed = controller.clock_.unix_seconds();
  intent.identity = make_identity(intent.id);
}

void Controller::Trial::keep() {
  result.lock = controller.store_.try_lock(intent.id);
  controller.store_.put(intent);
}

// Checks the caps and writes the intent, under a lock, so that two at once cannot both take what is left.
bool Controller::Trial::reserve(const Offer& offer) {
  const auto purse = controller.lock("spend");
  const auto lease = affordable(offer, 1);
  if (!lease) return false;
  write(offer, *lease);
  keep();
  return true;
}

bool Controller::Trial::adopt(const Machine& machine) {
  intent.machine = machine.id;
  intent.address = machine.address;
  intent.port = machine.port;
  private_address = machine.private_address;
  controller.store_.put(intent);
  return true;
}

// After a launch that may or may not have happened.
bool Controller::Trial::rescue(const ProviderError& error) {
  constexpr int kLooks = 3;
  for (int look = 1; look <= kLooks; ++look) {
    controller.clock_.sleep(std::chrono::seconds(2 * look));
    try {
      if (provider.launch_repeatable()) return adopt(provider.launch(intent));
      if (const auto machine = controller.look_up(provider, intent.id)) return adopt(*machine);
    } catch (const ProviderError& again) {
      if (!again.maybe_done && again.failure != Failure::kRetryLater) break;
    }
  }
  failure = fmt::format("{}; it may be there: looked for and ended by `kedge machines gc`", error.what());
  intent.stage = Stage::kEnding;
  intent.note = "its launch was answered by an error";
  controller.store_.put(intent);
  return false;
}

// Refused for certain: there is no machine, but perhaps a script or the like that was made for it.
void Controller::Trial::clean_up_refused() {
  if (kind == Failure::kAuth) return controller.store_.remove(intent.id);   // nothing was allowed before either
  if (controller.forget(intent, provider)) return;
  intent.stage = Stage::kEnding;
  intent.note = "its launch was refused";
  controller.store_.put(intent);
}

bool Controller::Trial::launch() {
  is_called = true;
  try {
    return adopt(provider.launch(intent));
  } catch (const ProviderError& error) {
    kind = error.failure;
    failure = error.what();
    if (error.maybe_done) return rescue(error);
    clean_up_refused();
    return false;
  }
}

void Controller::Trial::give_up(const std::string& why) {
  failure = why;
  machine_failed = true;
  try {
    if (const std::string log = provider.log(intent); !log.empty()) failure += "\n" + printable(log);
  } catch (const ProviderError&) {   // the log is a help, no more
  }
  if (!controller.end(intent, why))
    failure += "\n    told to end, not ended yet: `kedge machines gc` continues with it";
}

bool Controller::Trial::is_placed(const Machine& machine) const {
  return machine.state == MachineState::kRunning && !machine.address.empty() &&
         (!intent.is_agent() || !machine.private_address.empty());
}

// Until the provider says that it runs and where.
bool Controller::Trial::boot(double deadline) {
  std::string state = "nothing was heard of it";
  std::chrono::milliseconds wait = kFirstPoll;
  while (controller.clock_.steady_seconds() < deadline) {
    try {
      const auto machine = provider.describe(intent);
      if (controller.gone(intent, machine)) return give_up("the machine ended while it started"), false;
      if (machine && !intent.seen) intent.seen = true, controller.store_.put(intent);
      if (machine && machine->state == MachineState::kEnding) return give_up("the machine ends while it starts"), false;
      if (machine) state = "its state is " + machine->detail;
      if (machine && is_placed(*machine)) return adopt(*machine);
    } catch (const ProviderError& error) {
      if (error.failure == Failure::kAuth) throw;
      state = error.what();
    }
    controller.clock_.sleep(wait);
    wait = std::min(2 * wait, controller.times_.poll);
  }
  return give_up(fmt::format("the machine did not come up within {} s: {}", options.boot_limit.count(), state)), false;
}

// A user that requested a GPU does not pay for a machine whose server cannot use it.
bool Controller::Trial::accept(const Readiness& readiness) {
  if (intent.offer.gpus > 0) result.no_gpu = readiness.no_gpu;
  if (!result.no_gpu.empty() && !options.wish.gpu.empty())
    return give_up("its server cannot use the GPU: " + result.no_gpu), false;
  result.version = readiness.version;
  result.fuse = provider.fuse();
  return true;
}

// false as well when the provider cannot be asked just now.
bool Controller::Trial::has_ended() {
  try {
    const auto machine = provider.describe(intent);
    return !machine || machine->state == MachineState::kEnding;
  } catch (const ProviderError& error) {
    if (error.failure == Failure::kAuth) throw;
    return false;
  }
}

bool Controller::Trial::has_ended_or_lost_an_agent() {
  if (has_ended()) return give_up("the machine ended before its server answered"), true;
  for (Trial& agent : agents)
    if (agent.has_ended())
      return give_up(fmt::format("{}, which is to run ranks for it, ended", agent.intent.id)), true;
  return false;
}

// Until our server answers there, with our certificate and to our token, and a device of it can run jobs.
bool Controller::Trial::start(double deadline) {
  constexpr std::chrono::milliseconds kPoll{100};
  constexpr int kDescribeEvery = 20;
  constexpr int kRoundsWithoutDevice = 20;   // in which a worker that was replaced comes back
  Readiness readiness;
  for (int round = 1, without_device = 0; controller.clock_.steady_seconds() < deadline; ++round) {
    readiness = controller.probe_(intent);
    if (readiness.ready && readiness.looking && readiness.problem.empty())
      readiness.problem = "it still looks for its devices";
    if (readiness.ready && !readiness.looking && readiness.no_device.empty()) return accept(readiness);
    if (!readiness.no_device.empty() && ++without_device == kRoundsWithoutDevice)
      return give_up("its server has no device: " + readiness.no_device), false;
    if (readiness.hopeless) return give_up("something else answers there: " + readiness.problem), false;
    if (round % kDescribeEvery == 0 && has_ended_or_lost_an_agent()) return false;
    controller.clock_.sleep(round < kDescribeEvery ? kPoll : controller.times_.poll);
  }
  return give_up(fmt::format("the server did not get ready within {} s: {}", options.boot_limit.count(), readiness.problem)), false;
}

bool Controller::Trial::run() {
  if (!phase("launch", describe(intent.offer), [&] { return launch(); })) return false;
  const double deadline = controller.clock_.steady_seconds() + static_cast<double>(options.boot_limit.count());
  if (!phase("boot", intent.machine, [&] { return boot(deadline); })) return false;
  if (!phase("start", intent.url(), [&] { return start(deadline); })) return false;
  throw_if_interrupted();   // at the last moment: after Ctrl-C the user decides
  run_from_now();
  return true;
}

void Controller::Trial::run_from_now() {
  intent.stage = Stage::kRunning;
  intent.lease.renewed = controller.clock_.unix_seconds();
  controller.store_.put(intent);
}

// What became of the machine, in words.
std::string Controller::keep_or_end(const UpOptions& options, Intent& intent) {
  forget_interrupt();
  const bool keep = options.keep_after_interrupt && options.keep_after_interrupt(intent);
  forget_interrupt();   // a second Ctrl-C, instead of an answer, is for the end, not against it
  if (!keep && end(intent, "interrupted")) return intent.id + " has ended";
  if (!keep) return intent.id + " is ending and has not ended yet: `kedge machines gc` continues with it";
  intent.stage = Stage::kRunning;
  intent.lease.renewed = clock_.unix_seconds();
  store_.put(intent);
  store_.set_current(intent.id);
  return intent.id + " is kept and is the current machine; it ends by its lease, or with `kedge down`";
}

// After an error that ends the whole of up(): the row stays for the sweeper where this fails as well.
void Controller::end_if_possible(const Intent& intent, const std::string& why) {
  try {
    end(intent, why, times_.sweep_limit);
  } catch (const schema::Error&) {
  }
}

UpResult Controller::up(const UpOptions& options) {
  say({"offers", -1, {}});
  const double begin = clock_.steady_seconds();
  const Catalogue catalogue = offers(options.wish);
  const Selection selection = select(options.wish, catalogue.offers);
  UpResult result;
  result.phases.push_back(
      {"offers", clock_.steady_seconds() - begin, fmt::format("{} of {} fit", selection.order.size(), catalogue.offers.size())});
  say(result.phases.back());
  std::set<std::string> useless;   // providers that refuse our credentials
  int tried = 0, dead = 0;
  for (const Offer& offer : selection.order) {
    if (useless.contains(offer.provider)) continue;
    if (tried++ == kMostAttempts || dead == kMostDeadMachines) break;
    Trial trial{.controller = *this, .provider = require(offer.provider), .options = options, .result = result};
    if (!trial.reserve(offer)) {
      result.attempts.push_back({offer, trial.failure});
      continue;
    }
    try {
      if (trial.run()) return result;
    } catch (const schema::Error& error) {
      if (error.code == schema::ErrorCode::kCancelled)
        throw schema::Error(schema::ErrorCode::kCancelled, "interrupted: " + keep_or_end(options, result.intent));
      end_if_possible(result.intent, error.what());
      throw;
    }
    if (trial.kind == Failure::kAuth) useless.insert(offer.provider);
    dead += trial.machine_failed;
    result.attempts.push_back({offer, trial.failure});
  }
  nothing_rented(options, selection, catalogue, std::move(result.attempts));
}

void Controller::nothing_rented(const UpOptions& options, const Selection& selection, const Catalogue& catalogue,
                                std::vector<Attempt> attempts) const {
  std::string message = selection.advice.empty()
                            ? "no machine could be had:\n" + attempts_table(attempts)
                            : selection.advice + "\n" + attempts_table(not_tried(options.wish, selection));
  for (const std::string& problem : catalogue.problems) message += "  " + problem + "\n";
  message.pop_back();   // the last end of a line
  throw NothingRented(message, std::move(attempts));
}

}   // namespace kedge::provisioning
