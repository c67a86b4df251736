// The GPUs of a machine on which we can run nvidia-smi.
#pragma once

#include <string>
#include <vector>

#include "provisioning/offer.h"

namespace kedge::provisioning {

// Names from the output of `nvidia-smi --query-gpu=name --format=csv,noheader`, canonical.
std::vector<std::string> gpus_from(const std::string& output);
std::vector<std::string> gpus_here();   // empty where there is no driver

// This machine as an offer, at no cost.
Offer offer_here(const char* provider, const char* id);

}   // namespace kedge::provisioning
