// Compression by ISA-L and libzstd.
#include "server/http/compress.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace kedge::server::http {
namespace {

constexpr std::size_t kSmallest = 1024;   // below, the fields cost more than is won
constexpr int kZstdLevel = 3;

bool is_text(std::string_view type) {
  return type.starts_with("text/") || type.find("json") != std::string_view::npos ||
         type.find("javascript") != std::string_view::npos || type.find("svg") != std::string_view::npos;
}

// Quality that the field gives to a coding; -1: not named.
double quality(std::string_view accept, std::string_view coding) {
  while (!accept.empty()) {
    const auto comma = accept.find(',');
    std::string_view element = accept.substr(0, comma);
    accept = comma == std::string_view::npos ? std::string_view() : accept.substr(comma + 1);
    const auto trim = [](std::string_view s) {
      while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
      while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
      return s;
    };
    const auto semicolon = element.find(';');
    if (!same_name(trim(element.substr(0, semicolon)), coding)) continue;
    const auto q = element.find("q=");
    return q == std::string_view::npos ? 1 : std::strtod(std::string(element.substr(q + 2)).c_str(), nullptr);
  }
  return -1;
}

// Empty when it cannot be done.
std::string gzip(std::string_view body) {
  std::string out(body.size() + 64 * 1024, '\0');   // more than what cannot be compressed grows by
  std::vector<std::uint8_t> scratch(ISAL_DEF_LVL1_DEFAULT);
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(body.data()));   // read only
  stream.avail_in = static_cast<std::uint32_t>(body.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.level = 1;
  stream.level_buf = scratch.data();
  stream.level_buf_size = static_cast<std::uint32_t>(scratch.size());
  if (isal_deflate_stateless(&stream) != COMP_OK) return {};
  out.resize(stream.total_out);
  return out;
}

std::string zstd(std::string_view body) {
  std::string out(ZSTD_compressBound(body.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), body.data(), body.size(), kZstdLevel);
  if (ZSTD_isError(size)) return {};
  out.resize(size);
  return out;
}

}  // namespace

std::string_view choose_encoding(std::string_view accept) {
  const double any = quality(accept, "*");
  const auto wanted = [&](std::string_view coding) {
    const double named = quality(accept, coding);
    return named >= 0 ? named : any;
  };
  const double z = wanted("zstd"), g = wanted("gzip");
  if (z <= 0 && g <= 0) return {};
  return z >= g ? "zstd" : "gzip";
}

void compress(Response& response, std::string_view accept_encoding) {
  constexpr std::size_t kMost = std::size_t{1} << 30;   // ISA-L counts in 32 bits
  if (response.stream || response.body.size() < kSmallest || response.body.size() > kMost || !is_text(response.content_type))
    return;
  const bool encoded = std::any_of(response.fields.begin(), response.fields.end(), [](const auto& field) {
    return same_name(field.first, "Content-Encoding") || same_name(field.first, "Content-Range") ||
           same_name(field.first, "Vary");
  });
  if (encoded) return;
  response.fields.emplace_back("Vary", "Accept-Encoding");
  const std::string_view coding = choose_encoding(accept_encoding);
  if (coding.empty()) return;
  std::string body = coding == "zstd" ? zstd(response.body) : gzip(response.body);
  if (body.empty() || body.size() >= response.body.size()) return;
  response.body = std::move(body);
  response.fields.emplace_back("Content-Encoding", std::string(coding));
}

}  // namespace kedge::server::http
