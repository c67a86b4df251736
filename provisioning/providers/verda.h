// Verda: virtual machines started by a script that is stored there first.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

std::unique_ptr<Provider> make_verda(const Surroundings& here);   // set up by VERDA_CLIENT_ID and VERDA_CLIENT_SECRET

}  // namespace kedge::provisioning
