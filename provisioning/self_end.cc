// Removes this pod or instance.
#include "provisioning/self_end.h"

#include <fmt/core.h>

#include <optional>

#include "provisioning/errors.h"
#include "provisioning/http/client.h"
#include "provisioning/providers.h"

namespace kedge::provisioning {
namespace {

std::optional<http::Request> request_to_end() {
  const auto pod = environment_variable("RUNPOD_POD_ID"), pod_key = environment_variable("RUNPOD_API_KEY");
  const auto instance = environment_variable("CONTAINER_ID"), instance_key = environment_variable("CONTAINER_API_KEY");
  http::Request request{.method = "DELETE"};
  if (pod && pod_key) {
    request.url = environment_variable("KEDGE_RUNPOD_URL").value_or("https://rest.runpod.io/v1") + "/pods/" + *pod;
    request.headers = {{"Authorization", "Bearer " + *pod_key}};
    return request;
  }
  if (instance && instance_key) {
    request.url = environment_variable("KEDGE_VASTAI_URL").value_or("https://console.vast.ai") + "/api/v0/instances/" + *instance + "/";
    request.headers = {{"Authorization", "Bearer " + *instance_key}};
    return request;
  }
  return std::nullopt;
}

}  // namespace

void end_this_machine() {
  const auto request = request_to_end();
  if (!request) return;
  SystemClock clock;
  http::CurlClient curl;
  for (std::chrono::seconds wait{1};; wait = std::min(2 * wait, std::chrono::seconds(60))) {
    try {
      const http::Response response = curl.send(*request);
      if (response.status < 300 || response.status == 404) return;
      fmt::print(stderr, "requested the end of this machine: {} {}\n", response.status, response.body.substr(0, 200));
    } catch (const ProviderError& error) {
      fmt::print(stderr, "requested the end of this machine: {}\n", error.what());
    }
    clock.sleep(wait);
  }
}

}  // namespace kedge::provisioning
