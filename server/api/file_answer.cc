// Files and ranges: see file_answer.h.
#include "server/api/file_answer.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <optional>

#include "schemas/error.h"
#include "server/http/problem.h"

namespace kedge::server::api {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20, kInlineBytes = 8 << 20, kLongestRange = 64 << 20;

struct Part {
  std::uint64_t first = 0, last = 0;   // inclusive
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && !text.empty() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// "bytes=0-99", "bytes=100-" or "bytes=-100" of `size` bytes; first > last: nothing of the file.
std::optional<Part> wanted_part(std::string_view range, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!range.starts_with(kUnit) || range.find(',') != std::string_view::npos) return std::nullopt;
  range.remove_prefix(kUnit.size());
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = number(range.substr(0, dash)), last = number(range.substr(dash + 1));
  if (dash == 0) return last ? std::optional(Part{*last < size ? size - *last : 0, size - 1}) : std::nullopt;
  if (!first || (dash + 1 < range.size() && !last) || (last && *last < *first)) return std::nullopt;
  return Part{*first, std::min(last.value_or(size - 1), size - 1)};
}

// Files are written once: size, time and place tell one content from another.
std::string etag_of(const std::filesystem::path& path, std::uint64_t size) {
  struct stat status {};
  ::stat(path.c_str(), &status);
  return fmt::format("\"{:x}-{:x}-{:x}\"", size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, status.st_ino);
}

bool matches(std::string_view if_none_match, std::string_view etag) {
  return if_none_match == "*" || if_none_match.find(etag) != std::string_view::npos;
}

std::string read_part(std::ifstream& file, std::uint64_t first, std::uint64_t size) {
  std::string bytes(size, '\0');
  file.seekg(static_cast<std::streamoff>(first));
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

http::Response partial(const http::Request& request, std::ifstream& file, Part part, std::uint64_t size) {
  http::Response response;
  if (part.first >= size || part.first > part.last) {
    constexpr int kNotSatisfiable = 416;
    const schema::Error error(schema::ErrorCode::kInvalidValue,
                              fmt::format("Range is '{}', must begin within the {} bytes of the file", request.field("Range"), size), "Range");
    response = http::problem(kNotSatisfiable, error, request.id);
    response.fields.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    return response;
  }
  part.last = std::min(part.last, part.first + kLongestRange - 1);
  response.status = 206;
  response.body = read_part(file, part.first, part.last - part.first + 1);
  response.fields.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", part.first, part.last, size));
  return response;
}

}  // namespace

http::Response file_answer(const http::Request& request, const std::filesystem::path& path, std::string_view content_type,
                           std::string_view name) {
  const auto file = std::make_shared<std::ifstream>(path, std::ios::binary);   // shared with the stream of the answer
  if (!*file) throw schema::Error(schema::ErrorCode::kNotFound, fmt::format("there is no '{}' any more", name));
  const std::uint64_t size = std::filesystem::file_size(path);
  http::Response response;
  const std::string etag = etag_of(path, size);
  const std::string_view unless = request.field("If-Range");
  const auto part = unless.empty() || unless == etag ? wanted_part(request.field("Range"), size) : std::nullopt;
  if (matches(request.field("If-None-Match"), etag)) {
    response.status = 304;
  } else if (part) {
    response = partial(request, *file, *part, size);
  } else if (size <= kInlineBytes) {
    response.body = read_part(*file, 0, size);
  } else {
    response.stream_bytes = size;
    response.stream = [file](http::BodyWriter& writer) -> http::net::awaitable<void> {
      for (std::uint64_t at = 0;; at += kPieceBytes) {
        const std::string piece = read_part(*file, at, kPieceBytes);
        if (piece.empty()) co_return;
        co_await writer.write(piece);
        file->clear();
      }
    };
  }
  response.fields.emplace_back("ETag", etag);
  response.fields.emplace_back("Accept-Ranges", "bytes");
  if (response.status >= 300) return response;
  response.content_type = content_type;
  response.fields.emplace_back("Content-Disposition", fmt::format("attachment; filename=\"{}\"", name));
  return response;
}

}  // namespace kedge::server::api
