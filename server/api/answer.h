// What the handlers share: answers in the form that the client accepts, and checked query parameters.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/codec.h"
#include "schemas/error.h"
#include "server/http/message.h"

namespace kedge::server::api {

inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kCapnp = "application/vnd.kedge.capnp";
inline constexpr std::string_view kSse = "text/event-stream";
inline constexpr std::string_view kNdjson = "application/x-ndjson";

// The offer that the client likes best. Throws kNotAcceptable, listing the offers, if it takes none.
std::string_view negotiate(const http::Request& request, std::initializer_list<std::string_view> offers);
std::string_view negotiate(const http::Request& request, std::span<const std::string_view> offers);

http::Response json_answer(int status, std::string json);

// `value` as JSON or Cap'n Proto.
template <class T>
http::Response answer(const http::Request& request, int status, const T& value) {
  if (negotiate(request, {kJson, kCapnp}) == kJson) return json_answer(status, schema::to_json(value));
  const auto bytes = schema::to_binary(value);
  http::Response response;
  response.status = status;
  response.content_type = kCapnp;
  response.body.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return response;
}

// Throws kUnknownField for a query parameter that is not on the list, kInvalidValue for one that comes twice.
void check_query(const http::Request& request, std::initializer_list<std::string_view> names);

// "60s", "500ms", "2m" or "60" (seconds). Throws kInvalidValue, with `where`, for anything else and for more
// than ten minutes.
std::chrono::milliseconds parse_duration(std::string_view text, std::string_view where);

// `?wait=`, or the `wait` of Prefer (RFC 7240), which is cut to ten minutes instead of refused.
std::optional<std::chrono::milliseconds> wanted_wait(const http::Request& request);

// Digits only. Throws kInvalidValue, with `where`, unless low <= value <= high.
std::int64_t parse_integer(std::string_view text, std::int64_t low, std::int64_t high,
                           std::string_view where);

// Where a stream of events is to go on.
struct ResumePoint {
  std::string_view where, text;   // "after" or "Last-Event-ID", and what it says
};

// What the request has of the two; both are to be checked, and the last one counts. That is Last-Event-ID, because a
// browser that connects again sends it to the same address.
std::vector<ResumePoint> resume_points(const http::Request& request);

}  // namespace kedge::server::api
