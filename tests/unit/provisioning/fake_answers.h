// What the scripts of the providers' APIs are written with.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/unit/provisioning/scripted_fake.h"

namespace kedge::provisioning::fakes {

using http::Request;
using http::Response;

inline Response ok(std::string body) {
  return {.status = 200, .body = std::move(body)};
}
inline Response not_found() {
  return {.status = 404, .body = R"({"error": "not found"})"};
}
inline Response refused() {
  return {.status = 400, .body = R"({"message": "the machine is being created"})"};
}

// What follows `part` in the URL, without a query and slashes.
inline std::string after(const Request& request, const std::string& part) {
  const std::size_t start = request.url.find(part);
  if (start == std::string::npos) return {};
  std::string rest = request.url.substr(start + part.size());
  rest = rest.substr(0, rest.find_first_of("/?"));
  return rest;
}
inline bool ends(const Request& request, const std::string& part) {
  return request.url.substr(0, request.url.find('?')).ends_with(part);
}
inline bool authorized(const Request& request, const std::string& value) {
  return std::ranges::any_of(request.headers,
                             [&](const auto& header) { return header.first == "Authorization" && header.second == value; });
}
inline Response unauthorized() {
  return {.status = 401, .body = R"({"error": "bad key"})"};
}

inline std::string joined(const std::vector<FakeMachines::Row>& rows,
                          const std::function<std::string(const FakeMachines::Row&)>& show) {
  std::string out;
  for (const auto& row : rows) out += (out.empty() ? "" : ",") + show(row);
  return "[" + out + "]";
}

inline Response made(FakeMachines& machines, const std::string& id, const std::string& usual, const std::string& empty) {
  return ok(machines.partial ? empty : machines.id_only ? "\"" + id + "\"" : usual);
}

}   // namespace kedge::provisioning::fakes
