// Renting that leaves nothing behind: intents before calls, ambiguous launches looked up, ends confirmed, the rest swept.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "provisioning/clock.h"
#include "provisioning/provider.h"
#include "provisioning/select.h"
#include "provisioning/store.h"

namespace kedge::provisioning {

// What a new server says of itself, over TLS with its pin and token.
struct Readiness {
  bool ready = false;
  bool hopeless = false;   // another server answers there: wrong certificate, wrong token
  bool busy = false;       // jobs are queued or running
  bool looking = false;    // it does not know its devices yet, or waits for the ranks of its cluster, so no job runs
  std::string version;
  std::string problem;   // while it is not ready or still looks
  std::string no_gpu;    // why it can use no GPU; empty: it can, or does not know yet
  std::string no_device;   // why it can use no device at all, likewise
};
using Probe = std::function<Readiness(const Intent&)>;

// One step of `up` that has begun (seconds < 0) or ended.
struct Phase {
  std::string name;   // offers, launch, boot, start
  double seconds = -1;
  std::string note;
};

struct Attempt {
  Offer offer;
  std::string outcome;   // why it was not the one
};

struct UpOptions {
  Wish wish;
  Lease lease;
  std::string image;
  bool one_job = false;
  std::function<std::string()> new_host_key;   // for wish.cluster: the text of a key that `kedge host-agent` takes
  std::optional<double> max_spend;        // USD for this machine, its fuse's slack included
  std::optional<double> spend_cap;        // USD for all machines: what is rented now at most, and what was paid in 30 days
  std::chrono::seconds boot_limit{600};   // from the launch to an answer
  // Asked after Ctrl-C: true keeps the machine and makes it the current one. Not set: it is ended.
  std::function<bool(const Intent&)> keep_after_interrupt;
};

struct UpResult {
  Intent intent;
  std::shared_ptr<void> lock;   // of the intent: while it is held, no sweeper touches the machine
  std::string version;
  std::string fuse;     // Provider::fuse()
  std::string no_gpu;   // Readiness::no_gpu, where there should be one
  std::vector<Phase> phases;
  std::vector<Attempt> attempts;
};

// One or more machines; those of a gang in the order of their nodes.
struct GangResult {
  std::vector<UpResult> members;
  std::vector<Attempt> attempts;
};

struct Catalogue {
  std::vector<Offer> offers;
  std::vector<std::string> problems;   // of providers that did not answer, one line each
};

struct MachineRow {
  Intent intent;
  std::optional<Machine> machine;   // as the provider shows it now
  std::string problem;              // why it could not be asked
};

struct Swept {
  std::vector<std::string> ended;     // one line each
  std::vector<std::string> pending;   // told to end, not yet gone
  std::vector<std::string> problems;
  std::vector<std::string>
      others;   // machines of this owner from another state directory: whether they are wanted is not known here
};

// Nothing came of `up`: the message holds the table of attempts.
struct NothingRented : schema::Error {
  std::vector<Attempt> attempts;
  NothingRented(std::string message, std::vector<Attempt> attempts)
      : schema::Error(schema::ErrorCode::kUnavailable, std::move(message)), attempts(std::move(attempts)) {}
};

// Timing of the loops.
struct ControllerTimes {
  std::chrono::milliseconds poll{2000};
  std::chrono::seconds end_limit{300};    // how long end() waits for "gone"
  std::chrono::seconds sweep_limit{30};   // the same, for each machine in sweep()
};

// Loops ask so soon at first and half as often each time, down to ControllerTimes::poll: a local machine is there at once.
constexpr std::chrono::milliseconds kFirstPoll{100};

class Controller {
 public:
  // All are borrowed and outlive the controller.
  Controller(IntentStore& store, std::span<const std::unique_ptr<Provider>> providers, Clock& clock, Probe probe,
             std::function<void(const Phase&)> report = {}, ControllerTimes times = {});

  Catalogue offers(const Wish& wish);
  // Tries offer after offer. NothingRented; kCancelled after an interrupt, when the machine has been kept or ended as
  // the user chose.
  UpResult up(const UpOptions& options);
  // wish.nodes machines of one offer, so in one place, with one lease: all or none. As up(); an interrupt ends all.
  // For a cluster the first, its head, comes up last and counts as ready when it has ranks on all.
  GangResult up_gang(const UpOptions& options);
  // end() for all machines of a gang, which end at the same time.
  bool end_gang(const std::string& gang, const std::string& why);
  // true once the provider says gone and the row is removed; false when time ran out: the row stays, sweep() continues.
  bool end(Intent intent, const std::string& why, std::chrono::seconds limit);
  bool end(Intent intent, const std::string& why) { return end(std::move(intent), why, times_.end_limit); }
  // Every row with what its provider shows; the address of a machine that was kept before it came up is noted.
  std::vector<MachineRow> machines();
  // A row for a machine of this owner that has none here, so that end() can end it; nullopt: no provider shows it.
  // ProviderError when one could not be asked and no other shows it.
  std::optional<Intent> claim(const std::string& id);
  // Ends what is no longer wanted, and removes rows of machines that are gone from the store.
  Swept sweep();

 private:
  struct Trial;   // one offer's way to a server, controller_up.cc
  struct GangTrial;
  Provider* find(const std::string& name) const;
  Provider& require(const std::string& name) const;
  std::shared_ptr<void> lock(const std::string& id) const;
  bool gone(const Intent& intent, const std::optional<Machine>& machine);
  bool forget(const Intent& intent, Provider& provider);
  std::optional<Machine> look_up(Provider& provider, const std::string& id);
  Intent record(const Provider& provider, const Machine& machine, const std::string& why);
  void sweep_provider(Provider& provider, Swept& swept);
  void sweep_row(Intent intent, Swept& swept);
  std::string reason_to_end(Intent& intent);
  std::vector<Intent> gang_of(const Intent& intent) const;
  bool end_all(const std::vector<Intent>& intents, const std::string& why);
  std::string reason_to_end_gang(const Intent& intent) const;
  [[noreturn]] void nothing_rented(const UpOptions& options, const Selection& selection, const Catalogue& catalogue,
                                   std::vector<Attempt> attempts) const;
  void note_end(const Intent& intent, const std::string& why, Swept& swept);
  std::string keep_or_end(const UpOptions& options, Intent& intent);
  void end_if_possible(const Intent& intent, const std::string& why);
  double committed() const;
  void say(const Phase& phase) const;

  IntentStore& store_;
  std::span<const std::unique_ptr<Provider>> providers_;
  Clock& clock_;
  Probe probe_;
  std::function<void(const Phase&)> report_;
  ControllerTimes times_;
};

// "provider offer region  price  outcome" lines.
std::string attempts_table(const std::vector<Attempt>& attempts);

// The probe over HTTPS: GET /readyz, then /v1/info with the token.
namespace http {
class Client;
}
Probe https_probe(http::Client& client);

}   // namespace kedge::provisioning
