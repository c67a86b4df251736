// A public key for providers that insist on one. Its private half is not kept.
#pragma once

#include <string>

namespace kedge::provisioning {

// "ssh-ed25519 AAAA... kedge": the private half is thrown away as soon as it is made, so no one can log in with it.
std::string unusable_ssh_key();

}   // namespace kedge::provisioning
