// Writing quotas as fields.
#include "server/http/rate_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kedge::server::http {
namespace {

constexpr std::int64_t kLongest = 999'999'999;   // the largest time that is sent

// Both fields are lists.
void add_item(Response& response, std::string_view name, std::string item) {
  for (auto& [known, value] : response.fields)
    if (known == name) {
      value += ", " + item;
      return;
    }
  response.fields.emplace_back(name, std::move(item));
}

std::int64_t whole_seconds(double seconds) {
  return seconds < static_cast<double>(kLongest) ? static_cast<std::int64_t>(std::ceil(seconds)) : kLongest;
}

}   // namespace

std::int64_t retry_after(const schema::Quota& quota) {
  return std::max<std::int64_t>(1, whole_seconds(quota.next_s));
}

void add_quota(Response& response, const schema::Quota& quota) {
  std::string policy = fmt::format("\"{}\";q={};qu=\"{}\"", quota.name, quota.most, quota.unit);
  if (quota.window_s > 0) policy += fmt::format(";w={}", whole_seconds(quota.window_s));
  std::string state = fmt::format("\"{}\";r={}", quota.name, quota.left);
  if (quota.refill_s > 0) state += fmt::format(";t={}", whole_seconds(quota.refill_s));
  add_item(response, "RateLimit-Policy", std::move(policy));
  add_item(response, "RateLimit", std::move(state));
}

}   // namespace kedge::server::http
