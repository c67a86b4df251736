// Signed calls to AWS services, and what their errors mean.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "provisioning/clock.h"
#include "provisioning/errors.h"
#include "provisioning/http/client.h"
#include "provisioning/json.h"
#include "provisioning/providers/sigv4.h"
#include "provisioning/providers/xml.h"

namespace kedge::provisioning {

using Fields = std::vector<std::pair<std::string, std::string>>;

class AwsApi {
 public:
  AwsApi(http::Client& http, Clock& clock, AwsKeys keys, std::string endpoint);

  // An action of EC2. Those that only read are repeated when that may help.
  xml::Node ec2(const std::string& region, const std::string& action, Fields fields = {});
  // A JSON 1.1 call: target "AmazonSSM.GetParameter".
  json::Value call(const std::string& service, const std::string& region, const std::string& host, const std::string& target,
                   const json::Value& body);

 private:
  http::Response send(http::Request request, const std::string& region, const std::string& service);

  http::Client& http_;
  Clock& clock_;
  AwsKeys keys_;
  std::string endpoint_;            // in place of AWS's own hosts; empty: those
  std::int64_t clock_error_s_ = 0;  // theirs minus ours, learnt from a refusal
};

Failure aws_failure(const std::string& code, long status);

}  // namespace kedge::provisioning
