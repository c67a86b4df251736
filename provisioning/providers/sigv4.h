// Signs requests to AWS, Signature Version 4.
#pragma once

#include <cstdint>
#include <string>

#include "provisioning/http/client.h"

namespace kedge::provisioning {

struct AwsKeys {
  std::string access, secret;
  std::string session;  // of temporary credentials; empty: none
};

// Adds X-Amz-Date, X-Amz-Security-Token where there is a session, and Authorization. Signs every header that is there by then
// (but User-Agent, Expect, Transfer-Encoding and Connection) and Host, which curl adds. The query of the URL must be encoded as
// it is to be sent. Source: AWS General Reference, "Create a signed AWS API request". Not for S3, which encodes paths once only.
void sign_aws(http::Request& request, const AwsKeys& keys, const std::string& region, const std::string& service,
              std::int64_t unix_seconds);

std::string amz_date(std::int64_t unix_seconds);  // 20260131T235959Z

}  // namespace kedge::provisioning
