// Comparing Origin and Sec-Fetch-Site with the server's own name and the allowed ones.
#include "server/http/site_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/faults/fail_point.h"
#include "schemas/error.h"
#include "server/http/problem.h"

namespace kedge::server::http {
namespace {

// What the server reads and sends beyond the fields that every page may send and see.
constexpr std::string_view kRequestFields =
    "Authorization, Content-Digest, Content-Type, Idempotency-Key, If-None-Match, If-Range, Last-Event-ID, Prefer, Range, traceparent, "
    "X-Request-Id";
constexpr std::string_view kAnswerFields =
    "Allow, Content-Disposition, Content-Range, ETag, Location, Preference-Applied, RateLimit, RateLimit-Policy, Repr-Digest, "
    "Retry-After, X-Request-Id";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

// "http://localhost:8888" -> "localhost:8888"; empty for what is no origin, "null" for one.
std::string_view authority_of(std::string_view origin) {
  const auto end = origin.find("://");
  return end == std::string_view::npos ? std::string_view() : origin.substr(end + 3);
}

bool is_origin(std::string_view text) {
  const std::string_view authority = authority_of(text);
  return (text.starts_with("http://") || text.starts_with("https://")) && !authority.empty() &&
         authority.find_first_of("/?#@ *") == std::string_view::npos;
}

// The scheme may be another where a TLS proxy is in front.
bool is_own(std::string_view origin, std::string_view host) {
  return !host.empty() && lower(authority_of(origin)) == lower(host);
}

// The user follows a link to one of the server's pages.
bool is_visit(const Request& request) {
  return (request.method == "GET" || request.method == "HEAD") && request.field("Sec-Fetch-Mode") == "navigate" &&
         request.field("Sec-Fetch-Dest") == "document";
}

}   // namespace

SiteRules::SiteRules(const std::vector<std::string>& origins) {
  for (const std::string& given : origins) {
    origins_.push_back(lower(given));
    if (!is_origin(origins_.back()))
      throw schema::Error(
          schema::ErrorCode::kInvalidValue,
          fmt::format("allowed-origin is '{}', must be an origin such as https://notes.example or http://localhost:8888", given));
  }
}

bool SiteRules::allows(std::string_view origin) const {
  return !origin.empty() && std::ranges::find(origins_, lower(origin)) != origins_.end();
}

bool SiteRules::admits(const Request& request) const {
  if (KEDGE_CONTROL("trust-web-pages")) return true;
  const std::string_view origin = request.field("Origin"), site = request.field("Sec-Fetch-Site");
  if (allows(origin)) return true;
  if (!origin.empty() && !is_own(origin, request.field("Host"))) return false;
  return site.empty() || site == "same-origin" || site == "none" || is_visit(request);
}

Response other_site(const Request& request) {
  const std::string_view origin = request.field("Origin");
  const bool names_itself = !origin.empty();
  return problem(schema::Error(schema::ErrorCode::kForbidden,
                               fmt::format("the request comes from a web page of another site ({} is '{}'); --allowed-origin admits one",
                                           names_itself ? "Origin" : "Sec-Fetch-Site", names_itself ? origin : request.field("Sec-Fetch-Site")),
                               names_itself ? "Origin" : "Sec-Fetch-Site"),
                 request.id);
}

bool is_preflight(const Request& request) {
  return request.method == "OPTIONS" && !request.field("Origin").empty() && !request.field("Access-Control-Request-Method").empty();
}

Response preflight(const Request& request, const std::string& allow) {
  Response response;
  response.status = 204;
  response.fields.emplace_back("Access-Control-Allow-Methods", allow);
  response.fields.emplace_back("Access-Control-Allow-Headers", std::string(kRequestFields));
  response.fields.emplace_back("Access-Control-Max-Age", "600");
  if (same_name(request.field("Access-Control-Request-Private-Network"), "true"))
    response.fields.emplace_back("Access-Control-Allow-Private-Network", "true");
  return response;
}

void add_cors(Response& response, std::string_view origin) {
  response.fields.emplace_back("Access-Control-Allow-Origin", std::string(origin));
  response.fields.emplace_back("Access-Control-Expose-Headers", std::string(kAnswerFields));
  response.fields.emplace_back("Vary", "Origin");
}

}   // namespace kedge::server::http
