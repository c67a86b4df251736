// Answers and query parameters.
#include "server/api/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "schemas/duration.h"
#include "server/http/accept.h"

namespace kedge::server::api {
namespace {

using schema::Error;
using schema::ErrorCode;
using std::chrono::milliseconds;

constexpr milliseconds kLongestWait{600'000};

std::optional<std::int64_t> to_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The `wait` among the preferences of "respond-async, wait=10"; what cannot be read is no preference.
std::optional<milliseconds> preferred_wait(std::string_view prefer) {
  const auto found = prefer.find("wait=");
  if (found == std::string_view::npos || (found > 0 && prefer[found - 1] != ' ' && prefer[found - 1] != ','))
    return std::nullopt;
  prefer.remove_prefix(found + 5);
  const auto seconds = to_integer(prefer.substr(0, prefer.find_first_of(",; ")));
  if (!seconds || *seconds < 0) return std::nullopt;
  return std::min(milliseconds(1000 * std::min<std::int64_t>(*seconds, 3600)), kLongestWait);
}

}  // namespace

std::string_view negotiate(const http::Request& request, std::initializer_list<std::string_view> offers) {
  return negotiate(request, std::span(offers.begin(), offers.size()));
}

std::string_view negotiate(const http::Request& request, std::span<const std::string_view> offers) {
  const std::string_view chosen = http::choose_media_type(request.field("Accept"), offers);
  if (chosen.empty())
    throw Error(ErrorCode::kNotAcceptable, fmt::format("Accept is '{}', but there is only {}",
                                                       request.field("Accept"), fmt::join(offers, ", ")), "Accept");
  return chosen;
}

http::Response json_answer(int status, std::string json) {
  http::Response response;
  response.status = status;
  response.content_type = kJson;
  response.body = std::move(json);
  response.body += '\n';
  return response;
}

void check_query(const http::Request& request, std::initializer_list<std::string_view> names) {
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : request.query) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const std::string_view near = schema::nearest_name(name, names);
      throw Error(ErrorCode::kUnknownField,
                  fmt::format("unknown query parameter '{}'{}", name,
                              near.empty() ? "" : fmt::format("; did you mean '{}'?", near)),
                  name);
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      throw Error(ErrorCode::kInvalidValue, fmt::format("query parameter '{}' comes twice", name), name);
    seen.push_back(name);
  }
}

milliseconds parse_duration(std::string_view text, std::string_view where) {
  const bool has_short_unit = text.find_first_not_of("0123456789ms") == std::string_view::npos;   // all that a wait of minutes needs
  const std::optional<double> seconds = has_short_unit ? schema::parse_duration(text) : std::nullopt;
  if (!seconds)
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("{} is '{}', must be a duration such as 60s, 500ms or 2m", where, text),
                std::string(where));
  if (*seconds * 1000 > static_cast<double>(kLongestWait.count()))
    throw Error(ErrorCode::kInvalidValue, fmt::format("{} is {}, must be at most 10m", where, text),
                std::string(where));
  return milliseconds(std::llround(*seconds * 1000));
}

std::optional<milliseconds> wanted_wait(const http::Request& request) {
  if (const auto wait = request.query_value("wait")) return parse_duration(*wait, "wait");
  return preferred_wait(request.field("Prefer"));
}

std::int64_t parse_integer(std::string_view text, std::int64_t low, std::int64_t high,
                           std::string_view where) {
  const auto value = to_integer(text);
  if (value && *value >= low && *value <= high) return *value;
  const std::string bound = high == std::numeric_limits<std::int64_t>::max()
                                ? fmt::format("an integer from {}", low)
                                : fmt::format("an integer from {} to {}", low, high);
  throw Error(ErrorCode::kInvalidValue, fmt::format("{} is '{}', must be {}", where, text, bound),
              std::string(where));
}

std::vector<ResumePoint> resume_points(const http::Request& request) {
  std::vector<ResumePoint> points;
  if (const auto after = request.query_value("after")) points.push_back({"after", *after});
  if (const std::string_view text = request.field("Last-Event-ID"); !text.empty())
    points.push_back({"Last-Event-ID", text});
  return points;
}

}  // namespace kedge::server::api
