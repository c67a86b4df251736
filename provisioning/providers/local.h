// A server process on this machine: costs nothing, and goes through everything that a rented machine goes through.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

// Set up where kedged is in this program's folder or KEDGE_KEDGED names it. Machines are found by the variable
// KEDGE_MACHINE in the environment of processes, so they are found even when every file of ours is lost.
std::unique_ptr<Provider> make_local(const Surroundings& here);

}  // namespace kedge::provisioning
