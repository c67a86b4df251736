// TensorDock: virtual machines of many hosts, started by cloud-init.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

std::unique_ptr<Provider> make_tensordock(const Surroundings& here);   // set up by TENSORDOCK_API_TOKEN

}   // namespace kedge::provisioning
