// Files that tests hold as text or make of parts.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace kedge {

inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// A file in a tar archive, with the header of V7, which has blanks before its digits and no more behind its kind.
inline std::string tar_file(const std::string& name, const std::string& content, char kind = '0') {
  std::string out(512, '\0');
  out.replace(0, name.size(), name);
  std::array<char, 13> size{};
  std::snprintf(size.data(), size.size(), "%11zo ", content.size());
  out.replace(124, 12, size.data(), 12);
  out[156] = kind;
  out += content;
  out.resize((out.size() + 511) / 512 * 512, '\0');
  return out;
}

}   // namespace kedge
