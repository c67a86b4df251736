// RunPod: our image as a pod, with the API port mapped to a public one.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

std::unique_ptr<Provider> make_runpod(const Surroundings& here);   // set up by RUNPOD_API_KEY

}  // namespace kedge::provisioning
