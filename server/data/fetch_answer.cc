// What a server says about a body: the fields of an answer that matter here, and whether a broken download may go on.
#include "server/data/fetch_answer.h"

#include <curl/curl.h>

#include <charconv>
#include <ctime>
#include <cstdlib>

#include "server/data/cell.h"

namespace kedge::server {
namespace {
constexpr std::int64_t kStrongDateSeconds = 60;   // a file may change again within the second of its time stamp
}

void HttpAnswer::read_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {   // a new answer: interim ones come first
    *this = HttpAnswer{};
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) status = std::strtol(std::string(line.substr(space + 1, 3)).c_str(), nullptr, 10);
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.remove_suffix(1);
  const struct {
    std::string_view name;
    std::string& field;
  } known[] = {{"etag", etag}, {"last-modified", last_modified}, {"date", date}, {"location", location},
               {"content-encoding", content_encoding}, {"content-range", content_range}, {"retry-after", retry_after}};
  for (const auto& [name, field] : known)
    if (same_ignoring_case(line.substr(0, colon), name)) field = trimmed(value);
}

bool HttpAnswer::is_plain() const { return content_encoding.empty() || same_ignoring_case(content_encoding, "identity"); }

bool HttpAnswer::is_gzip() const {
  return same_ignoring_case(content_encoding, "gzip") || same_ignoring_case(content_encoding, "x-gzip");
}

std::string resume_validator(const HttpAnswer& answer) {
  if (!answer.etag.empty()) return answer.etag.starts_with("W/") ? "" : answer.etag;
  const std::time_t modified = curl_getdate(answer.last_modified.c_str(), nullptr);
  const std::time_t sent = curl_getdate(answer.date.c_str(), nullptr);
  const bool is_strong = modified >= 0 && sent >= 0 && sent - modified >= kStrongDateSeconds;
  return is_strong ? answer.last_modified : "";
}

std::optional<std::int64_t> range_start(const HttpAnswer& answer) {
  constexpr std::string_view kUnit = "bytes ";
  const std::string_view text = answer.content_range;
  if (!same_ignoring_case(text.substr(0, kUnit.size()), kUnit)) return std::nullopt;
  std::int64_t first = 0;
  const char* const begin = text.data() + kUnit.size();
  const auto result = std::from_chars(begin, text.data() + text.size(), first);
  if (result.ec != std::errc{} || result.ptr == text.data() + text.size() || *result.ptr != '-') return std::nullopt;
  return first;
}

}  // namespace kedge::server
