// What we mean to rent or have rented: written to disk before the first call, removed after the provider says gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "provisioning/identity.h"
#include "provisioning/lease.h"
#include "provisioning/offer.h"

namespace kedge::provisioning {

enum class Stage {
  kLaunching,   // a call may have been made; whether there is a machine is not certain
  kRunning,     // there is one, and it is used
  kEnding,      // it is no longer wanted: terminate until the provider says gone
};
std::string_view stage_name(Stage stage);

// What makes a gang one cluster: its first machine, the head, has a server whose device "cluster" has ranks on all
// machines. On the others runs `kedge host-agent`, which starts the ranks there.
struct ClusterPart {
  std::string key;               // secret: the text of the hosts' key, made for this gang; empty: there is no cluster
  int ranks = 1;                 // on each machine
  std::string device;            // of the ranks: cpu or cuda
  std::int64_t patience_s = 0;   // how long an agent without a connection goes on
  std::vector<std::string> hosts;   // of the head: HOST:RANKS, itself first

  friend bool operator==(const ClusterPart&, const ClusterPart&) = default;
};

// A row of the store. `id` is also the machine's name and tag, and the token that makes a launch idempotent.
struct Intent {
  std::string id;   // "kedge-<owner>-<random>"
  Offer offer;
  std::string image;   // of the container, where there is one
  Stage stage = Stage::kLaunching;
  bool one_job = false;   // made by `kedge run --on`: not to be kept once its client has ended
  std::string
      gang;        // the id of the first machine of its gang, which are rented and ended together; empty: it is alone
  int nodes = 1;   // machines of the gang
  ClusterPart cluster;
  std::string machine;    // the provider's id; empty: not known (yet)
  bool seen = false;      // the provider has shown it: from then on "not there" means gone
  std::string address;    // host of the server, once known
  int port = 0;
  Lease lease;
  Identity identity;          // secrets: the file is readable by its owner alone
  std::int64_t created = 0;   // unix seconds
  std::int64_t ended = 0;     // when we first told it to end
  std::string note;           // why it ends, for people

  bool is_clustered() const { return !cluster.key.empty(); }
  bool is_agent() const { return is_clustered() && id != gang; }   // it has no server
  std::string url() const;   // "https://address:port"; empty: not known, or it has no server
};

// What the names of all machines of an owner begin with.
std::string name_prefix(const std::string& owner);

std::string intent_to_json(const Intent& intent);
Intent intent_from_json(const std::string& text);   // schema::Error for what is no intent

// USD from `created` to `now`, and at most, when the lease lasts to its hard end.
double cost_so_far(const Intent& intent, std::int64_t now);
double cost_at_most(const Intent& intent);

}   // namespace kedge::provisioning
