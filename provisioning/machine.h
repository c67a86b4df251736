// A machine as its provider shows it.
#pragma once

#include <string>

namespace kedge::provisioning {

enum class MachineState { kPending, kRunning, kEnding };  // what is gone is not a machine

struct Machine {
  std::string id;    // the provider's
  std::string name;  // our intent's id
  MachineState state = MachineState::kPending;
  std::string address;  // where the server can be reached; empty: not known yet
  int port = 0;
  std::string private_address;   // where other machines of its gang reach it, as far as the provider shows it
  std::string detail;  // the provider's own word for the state
  std::string region;   // as Offer::region, where the provider needs it to name the machine; otherwise empty
};

}  // namespace kedge::provisioning
