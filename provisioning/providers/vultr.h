// Vultr: virtual machines started by cloud-init.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

std::unique_ptr<Provider> make_vultr(const Surroundings& here);   // set up by VULTR_API_KEY

}   // namespace kedge::provisioning
