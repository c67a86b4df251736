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

// Adds X-Amz-Date, X-Amz-Security-Token where there is a session, and Authorization. Signs every header that is there
// by then (but User-Agent, Expect, Transfer-Encoding and Connection) and Host, which curl adds. The query of the URL
// must be encoded as it is to be sent. Source: AWS General Reference, "Create a signed AWS API request". Not for S3,
// which encodes paths once only.
//
// Not by CURLOPT_AWS_SIGV4: libcurl 7.88, which Debian 12 has, signs the query as it stands and unsorted, which AWS
// refuses (https://github.com/curl/curl/issues/9717). This agrees with botocore (tests/provisioning/sign_aws_test.py).
void sign_aws(http::Request& request, const AwsKeys& keys, const std::string& region, const std::string& service,
              std::int64_t unix_seconds);

std::string amz_date(std::int64_t unix_seconds);  // 20260131T235959Z

}  // namespace kedge::provisioning
