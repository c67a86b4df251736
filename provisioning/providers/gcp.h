// Google Compute Engine: instances that the provider itself deletes at the end of their life.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

std::unique_ptr<Provider> make_gcp(
    const Surroundings& here);   // set up by GOOGLE_APPLICATION_CREDENTIALS (a service account's key) or KEDGE_GCP_TOKEN

}   // namespace kedge::provisioning
