// Machines that the user has, reached with the ssh command.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

// Set up by KEDGE_SSH_HOSTS: "user@host,other", as ssh takes them; KEDGE_SSH_CONFIG names a file for ssh -F. The host's
// key must be known already. The server's programs are those on the host's PATH, or are copied there from this
// program's folder.
std::unique_ptr<Provider> make_ssh(const Surroundings& here);

}  // namespace kedge::provisioning
