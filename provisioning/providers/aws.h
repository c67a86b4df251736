// AWS EC2 by its query API.
#pragma once

#include <memory>

#include "provisioning/providers.h"

namespace kedge::provisioning {

// Set up by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN), or by the profile AWS_PROFILE of
// AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). KEDGE_AWS_REGIONS, or AWS_REGION, AWS_DEFAULT_REGION, us-east-1;
// AWS_ENDPOINT_URL; KEDGE_AWS_AMI in place of the newest public image.
std::unique_ptr<Provider> make_aws(const Surroundings& here);

}  // namespace kedge::provisioning
