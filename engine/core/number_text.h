// A number from text: the whole of it, or nothing.
#pragma once

#include <fast_float/fast_float.h>

#include <limits>
#include <optional>
#include <string_view>

namespace kedge::engine {

// Blanks around it are left out. "?", "NA", "NaN" and "null" are NaN: a missing value.
inline std::optional<double> number_of(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  for (const std::string_view missing : {"", "?", "NA", "NaN", "nan", "null"})
    if (text == missing) return std::numeric_limits<double>::quiet_NaN();
  if (text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = fast_float::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace kedge::engine
