// Status line and fields of an answer, as bytes.
#include "server/http/response_head.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "server/http/problem.h"

namespace kedge::server::http {
namespace {

// Formatted once a second: every answer has it.
std::string_view http_date() {
  thread_local std::time_t formatted_for = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != formatted_for) {
    text = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
    formatted_for = now;
  }
  return text;
}

// A field stays one line, with any text of a handler.
void append_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  for (const char c : value)
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) head += c;
  head += "\r\n";
}

}  // namespace

std::string response_head(const Response& response, std::string_view request_id, bool keep_alive, bool may_chunk) {
  std::string head;
  head.reserve(512);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status,
                 reason_phrase(response.status), http_date());
  if (!response.content_type.empty()) append_field(head, "Content-Type", response.content_type);
  if (response.stream && !response.stream_bytes)
    head += may_chunk ? "Transfer-Encoding: chunked\r\n" : "";
  else if (response.status != 204 && response.status != 304)
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", response.stream ? *response.stream_bytes : response.body.size());
  append_field(head, "X-Request-Id", request_id);
  const auto is_about_caches = [](const auto& field) { return field.first == "Cache-Control"; };
  if (std::ranges::none_of(response.fields, is_about_caches)) head += "Cache-Control: no-store\r\n";
  head += "X-Content-Type-Options: nosniff\r\n";
  for (const auto& [name, value] : response.fields) append_field(head, name, value);
  if (!keep_alive) head += "Connection: close\r\n";
  head += "\r\n";
  return head;
}

Response wrong_host(const Request& request) {
  constexpr int kMisdirected = 421;
  return problem(kMisdirected,
                 schema::Error(schema::ErrorCode::kInvalidValue,
                               fmt::format("Host is '{}', which is not a name of this server; --allowed-host adds one", request.field("Host")),
                               "Host"),
                 request.id);
}

Response without_route(const Request& request, const std::string& allow) {
  if (request.path == "*" || (request.method == "OPTIONS" && !allow.empty())) {
    Response response;
    response.status = 204;
    response.fields.emplace_back("Allow", request.path == "*" ? "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" : allow);
    return response;
  }
  if (allow.empty())
    return problem(
        schema::Error(schema::ErrorCode::kNotFound,
                      fmt::format("there is nothing at {}; GET / lists what there is", request.path)),
        request.id);
  Response response = problem(
      schema::Error(schema::ErrorCode::kMethodNotAllowed,
                    fmt::format("{} is not offered for {}; {} are", request.method, request.path, allow)),
      request.id);
  response.fields.emplace_back("Allow", allow);
  return response;
}

}  // namespace kedge::server::http
