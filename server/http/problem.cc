// Errors as application/problem+json.
#include "server/http/problem.h"

#include <algorithm>

#include "schemas/codec.h"
#include "server/http/rate_limit.h"

namespace kedge::server::http {
namespace {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

bool is_retryable(schema::ErrorCode code) {
  return code == schema::ErrorCode::kTooManyRequests || code == schema::ErrorCode::kUnavailable ||
         code == schema::ErrorCode::kDatasetUnavailable || code == schema::ErrorCode::kStorageFull;
}

// What an error quotes may be as long as a request. Half an UTF-8 character at the cut is mended by the codec.
std::string shortened(std::string_view text) {
  constexpr std::size_t kLongest = 2048;
  return text.size() <= kLongest ? std::string(text) : std::string(text.substr(0, kLongest)) + "…";
}

// INVALID_VALUE -> urn:kedge:problem:invalid-value
std::string problem_type(std::string_view code_name) {
  std::string type = "urn:kedge:problem:";
  for (const char c : code_name)
    type += c == '_' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return type;
}

}  // namespace

std::string_view reason_phrase(int status) {
  static constexpr std::pair<int, std::string_view> kPhrases[] = {{100, "Continue"},
                                                                  {200, "OK"},
                                                                  {201, "Created"},
                                                                  {202, "Accepted"},
                                                                  {204, "No Content"},
                                                                  {206, "Partial Content"},
                                                                  {304, "Not Modified"},
                                                                  {308, "Permanent Redirect"},
                                                                  {400, "Bad Request"},
                                                                  {401, "Unauthorized"},
                                                                  {403, "Forbidden"},
                                                                  {404, "Not Found"},
                                                                  {405, "Method Not Allowed"},
                                                                  {406, "Not Acceptable"},
                                                                  {408, "Request Timeout"},
                                                                  {409, "Conflict"},
                                                                  {413, "Content Too Large"},
                                                                  {414, "URI Too Long"},
                                                                  {415, "Unsupported Media Type"},
                                                                  {416, "Range Not Satisfiable"},
                                                                  {417, "Expectation Failed"},
                                                                  {421, "Misdirected Request"},
                                                                  {422, "Unprocessable Content"},
                                                                  {429, "Too Many Requests"},
                                                                  {431, "Request Header Fields Too Large"},
                                                                  {499, "Client Closed Request"},
                                                                  {500, "Internal Server Error"},
                                                                  {501, "Not Implemented"},
                                                                  {502, "Bad Gateway"},
                                                                  {503, "Service Unavailable"},
                                                                  {504, "Gateway Timeout"},
                                                                  {505, "HTTP Version Not Supported"},
                                                                  {507, "Insufficient Storage"}};
  const auto* found = std::find_if(std::begin(kPhrases), std::end(kPhrases),
                                   [&](const auto& p) { return p.first == status; });
  return found == std::end(kPhrases) ? std::string_view("Status") : found->second;
}

std::string json_pointer(std::string_view where) {
  std::string pointer = where.empty() ? "" : "/";
  for (const char c : where) {
    if (c == '.' || c == '[') {
      if (!pointer.ends_with('/')) pointer += '/';
    } else if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else if (c != ']') {
      pointer += c;
    }
  }
  return pointer;
}

Response problem(const schema::Error& error, std::string_view request_id) {
  return problem(schema::http_status(error.code), error, request_id);
}

Response problem(int status, const schema::Error& error, std::string_view request_id) {
  const std::string code(schema::error_code_name(error.code)), message = shortened(error.message), where = shortened(error.where);
  ValueMap body;
  body.emplace_back("type", problem_type(code));
  body.emplace_back("title", std::string(reason_phrase(status)));
  body.emplace_back("status", status);
  body.emplace_back("detail", message);
  body.emplace_back("instance", std::string(request_id));
  body.emplace_back("code", code);
  if (!where.empty()) {
    body.emplace_back("where", where);
    ValueMap entry;
    entry.emplace_back("pointer", json_pointer(where));
    entry.emplace_back("code", code);
    entry.emplace_back("message", message);
    ValueList entries;
    entries.emplace_back(std::move(entry));
    body.emplace_back("errors", std::move(entries));
  }
  body.emplace_back("retryable", is_retryable(error.code));
  Response response;
  response.status = status;
  response.content_type = kProblemType;
  response.body = schema::value_to_json(Value(std::move(body))) + "\n";
  const auto* exceeded = dynamic_cast<const schema::QuotaExceeded*>(&error);
  if (exceeded) add_quota(response, exceeded->quota);
  if (status == 503 || status == 429 || status == 507)
    response.fields.emplace_back("Retry-After", exceeded ? std::to_string(retry_after(exceeded->quota)) : "1");
  return response;
}

void as_inference_error(Response& response) {
  Value value = schema::value_from_json(response.body);
  auto* body = std::get_if<ValueMap>(&value.data);
  if (!body) return;
  const auto detail = std::ranges::find(*body, "detail", [](const auto& member) { return member.first; });
  body->insert(body->begin(), {"error", detail == body->end() ? Value("the server gives no reason") : detail->second});
  response.content_type = "application/json";
  response.body = schema::value_to_json(value) + "\n";
}

}  // namespace kedge::server::http
