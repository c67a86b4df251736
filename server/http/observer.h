// Called for each request after its answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

namespace kedge::server::http {

// Views are valid during the call.
struct RequestRecord {
  std::string_view method, path;
  std::string_view route;   // its template, "/v1/jobs/{id}"; empty: none, or the request was refused before routing
  int status = 0;
  std::chrono::nanoseconds took{0};
  std::string_view request_id, trace_id, tenant, peer;
  std::string_view subject;   // what the path names first, or what an answer's Location names last
};

// Called on the loop's thread.
using Observer = std::function<void(const RequestRecord&)>;

}  // namespace kedge::server::http
