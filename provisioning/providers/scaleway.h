// Scaleway: instances started by cloud-init, with block volumes of their own.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

std::unique_ptr<Provider> make_scaleway(const Surroundings& here);   // set up by SCW_SECRET_KEY and SCW_DEFAULT_PROJECT_ID

}   // namespace kedge::provisioning
