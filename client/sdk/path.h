// Names as parts of a path.
#pragma once

#include <fmt/core.h>

#include <cctype>
#include <string>
#include <string_view>

namespace kedge {

// A name as one part of a path (RFC 3986).
inline std::string escaped(std::string_view name) {
  std::string text;
  for (const unsigned char c : name) {
    const bool is_plain = c < 128 && (std::isalnum(c) || c == '.' || c == '_' || c == '-');
    text += is_plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return text;
}

}   // namespace kedge
