// Look-ups in requests.
#include "server/http/message.h"

#include <algorithm>

namespace kedge::server::http {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view Request::field(std::string_view name) const {
  for (const auto& [key, value] : fields)
    if (same_name(key, name)) return value;
  return {};
}

std::optional<std::string_view> Request::query_value(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return std::nullopt;
}

std::string_view Request::capture(std::string_view name) const {
  for (const auto& [key, value] : captures)
    if (key == name) return value;
  return {};
}

}  // namespace kedge::server::http
