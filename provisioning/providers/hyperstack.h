// Hyperstack: virtual machines started by cloud-init, each in an environment of its own.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

std::unique_ptr<Provider> make_hyperstack(const Surroundings& here);   // set up by HYPERSTACK_API_KEY

}   // namespace kedge::provisioning
