// AWS requests.
#include "provisioning/providers/aws_api.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "provisioning/rest.h"

namespace kedge::provisioning {
namespace {

constexpr const char* kVersion = "2016-11-15";

bool one_of(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::ranges::find(codes, code) != codes.end();
}

bool only_reads(const std::string& action) {
  return action.starts_with("Describe") || action.starts_with("Get");
}

[[noreturn]] void refuse(const std::string& doing, const std::string& code, const std::string& words, long status, bool changes) {
  throw ProviderError(aws_failure(code, status), doing, code.empty() ? words : code + ": " + words, status,
                      changes && status >= 500);
}

}  // namespace

Failure aws_failure(const std::string& code, long status) {
  if (one_of(code, {"InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity",
                    "InsufficientCapacity", "SpotMaxPriceTooLow", "Unsupported", "InsufficientFreeAddressesInSubnet"}))
    return Failure::kNoCapacity;
  if (one_of(code, {"InstanceLimitExceeded", "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded",
                    "MaxSpotFleetRequestCountExceeded", "PendingVerification", "AddressLimitExceeded", "VolumeLimitExceeded"}))
    return Failure::kQuota;
  if (one_of(code, {"AuthFailure", "UnauthorizedOperation", "InvalidClientTokenId", "SignatureDoesNotMatch", "RequestExpired",
                    "OptInRequired", "AccessDeniedException", "UnrecognizedClientException", "MissingAuthenticationToken",
                    "Blocked", "IncompleteSignature"}))
    return Failure::kAuth;
  if (one_of(code, {"RequestLimitExceeded", "Throttling", "ThrottlingException", "InternalError", "InternalFailure",
                    "Unavailable", "ServiceUnavailable", "RequestResourceCountExceeded"}))
    return Failure::kRetryLater;
  return failure_of_status(status);
}

AwsApi::AwsApi(http::Client& http, Clock& clock, AwsKeys keys, std::string endpoint)
    : http_(http), clock_(clock), keys_(std::move(keys)), endpoint_(std::move(endpoint)) {
  while (endpoint_.ends_with('/')) endpoint_.pop_back();
}

// A refusal because of the time has the right time in its Date header. We use it once.
http::Response AwsApi::send(http::Request request, const std::string& region, const std::string& service) {
  for (bool again = true;; again = false) {
    http::Request signed_request = request;
    sign_aws(signed_request, keys_, region, service, clock_.unix_seconds() + clock_error_s_);
    http::Response response = http_.send(signed_request);
    const bool late =
        (response.status == 400 || response.status == 403) &&
        mentions(response.body, {"RequestExpired", "Signature expired", "Signature not yet current", "RequestTimeTooSkewed"});
    const std::int64_t theirs = late ? http::parse_date(response.header("date")) : -1;
    if (!again || theirs <= 0) return response;
    clock_error_s_ = theirs - clock_.unix_seconds();
  }
}

xml::Node AwsApi::ec2(const std::string& region, const std::string& action, Fields fields) {
  fields.emplace_back("Action", action);
  fields.emplace_back("Version", kVersion);
  std::ranges::sort(fields);
  http::Request request{.url = (endpoint_.empty() ? fmt::format("https://ec2.{}.amazonaws.com", region) : endpoint_) + "/"};
  if (only_reads(action)) {
    request.url += "?" + http::form_encode(fields);
  } else {
    request.method = "POST";
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
    request.body = http::form_encode(fields);
  }
  const http::Response response = send(std::move(request), region, "ec2");
  xml::Node root = xml::parse(response.body);
  if (response.status < 300 && !root.name.empty()) return root;
  const xml::Node& error = root.at("Errors/Error");
  refuse("aws: " + action, error.value("Code"), root.name.empty() ? response.body.substr(0, 200) : error.value("Message"),
         response.status, !only_reads(action));
}

json::Value AwsApi::call(const std::string& service, const std::string& region, const std::string& host,
                         const std::string& target, const json::Value& body) {
  http::Request request{
      .method = "POST", .url = (endpoint_.empty() ? "https://" + host : endpoint_) + "/", .body = json::write(body)};
  request.headers = {{"Content-Type", "application/x-amz-json-1.1"}, {"X-Amz-Target", target}};
  const http::Response response = send(std::move(request), region, service);
  json::Value value = json::parse(response.body);
  if (response.status < 300) return value;
  std::string code = json::text(value, "__type");
  code = code.substr(code.find('#') == std::string::npos ? 0 : code.find('#') + 1);
  refuse("aws: " + target, code, json::text(value, "message", json::text(value, "Message", response.body.substr(0, 200))),
         response.status, false);
}

}  // namespace kedge::provisioning
