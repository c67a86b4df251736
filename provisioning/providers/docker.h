// Containers of the docker or podman on this machine.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

// Set up where KEDGE_DOCKER names a program, or docker or podman is on the PATH and its engine answers. KEDGE_DOCKER_NETWORK=host for
// engines without a bridge.
std::unique_ptr<Provider> make_docker(const Surroundings& here);

}  // namespace kedge::provisioning
