// Vast.ai: our image on a machine that a host offers.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

std::unique_ptr<Provider> make_vastai(const Surroundings& here);   // set up by VAST_API_KEY

}  // namespace kedge::provisioning
