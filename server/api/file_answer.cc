// Files and ranges: see file_answer.h.
#include "server/api/file_answer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <system_error>

#include "engine/faults/fail_point.h"
#include "schemas/error.h"
#include "server/http/peer.h"
#include "server/http/problem.h"

namespace kedge::server::api {
namespace {

constexpr std::uint64_t kInlineBytes = 64 << 10;   // of a file: what is larger goes out in pieces

// An open file. It can be read although it is removed meanwhile, and is never changed.
class File {
 public:
  explicit File(const std::filesystem::path& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ >= 0 && ::fstat(fd_, &status_) != 0) status_ = {};
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  bool is_open() const { return fd_ >= 0; }
  std::uint64_t size() const { return static_cast<std::uint64_t>(status_.st_size); }
  std::string etag() const {
    return fmt::format("\"{:x}-{:x}-{:x}\"", size(), status_.st_mtim.tv_sec * 1'000'000'000 + status_.st_mtim.tv_nsec, status_.st_ino);
  }
  // Shorter only at the end of the file.
  std::string read(std::uint64_t first, std::uint64_t size) const {
    std::string bytes(size, '\0');
    std::uint64_t done = 0;
    while (done < size) {
      const ssize_t n = ::pread(fd_, bytes.data() + done, size - done, static_cast<off_t>(first + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw std::system_error(errno, std::generic_category(), "reading a file for its answer");
      if (n == 0) break;
      done += static_cast<std::uint64_t>(n);
    }
    bytes.resize(done);
    return bytes;
  }

 private:
  int fd_ = -1;
  struct stat status_ {};
};

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

bool matches(std::string_view if_none_match, std::string_view etag) {
  return if_none_match == "*" || if_none_match.find(etag) != std::string_view::npos;
}

// `size` bytes from `first` on, in pieces that are read while no other connection waits for the disk.
void send_part(http::Response& response, const http::Request& request, const std::shared_ptr<const File>& file, std::uint64_t first, std::uint64_t size) {
  if (size <= kInlineBytes || KEDGE_CONTROL("unbounded-answers")) {
    response.body = file->read(first, size);
    return;
  }
  response.stream_bytes = size;
  response.stream = [file, peer = request.peer, first, size](http::BodyWriter& writer) -> http::net::awaitable<void> {
    std::string piece;
    for (std::uint64_t at = 0; at < size; at += piece.size()) {
      auto read = [&] { piece = file->read(first + at, std::min<std::uint64_t>(size - at, http::kPieceBytes)); };
      co_await peer->offload(read);
      if (piece.empty()) co_return;
      co_await writer.write(piece);
    }
  };
}

http::Response partial(const http::Request& request, const std::shared_ptr<const File>& file, Part part) {
  http::Response response;
  const std::uint64_t size = file->size();
  if (part.first >= size || part.first > part.last) {
    constexpr int kNotSatisfiable = 416;
    const schema::Error error(schema::ErrorCode::kInvalidValue,
                              fmt::format("Range is '{}', must begin within the {} bytes of the file", request.field("Range"), size), "Range");
    response = http::problem(kNotSatisfiable, error, request.id);
    response.fields.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    return response;
  }
  response.status = 206;
  send_part(response, request, file, part.first, part.last - part.first + 1);
  response.fields.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", part.first, part.last, size));
  return response;
}

// Shared with the stream of the answer.
std::shared_ptr<const File> opened(const std::filesystem::path& path, std::string_view name) {
  auto file = std::make_shared<const File>(path);
  if (!file->is_open())
    throw schema::Error(schema::ErrorCode::kNotFound, fmt::format("there is no '{}' any more", name));
  return file;
}

}  // namespace

std::string etag_of(const std::filesystem::path& path) {
  const File file(path);
  return file.is_open() ? file.etag() : std::string();
}

std::optional<http::Response> unchanged(const http::Request& request, std::string_view etag) {
  if (!matches(request.field("If-None-Match"), etag)) return std::nullopt;
  http::Response response;
  response.status = 304;
  response.fields.emplace_back("ETag", etag);
  response.fields.emplace_back("Accept-Ranges", "bytes");
  return response;
}

http::Response file_answer(const http::Request& request, const std::filesystem::path& path,
                           std::string_view content_type, std::string_view name, std::string etag) {
  const auto file = opened(path, name);
  if (etag.empty()) etag = file->etag();
  if (std::optional<http::Response> same = unchanged(request, etag)) return std::move(*same);
  http::Response response;
  const std::string_view unless = request.field("If-Range");
  const auto part = unless.empty() || unless == etag ? wanted_part(request.field("Range"), file->size()) : std::nullopt;
  if (part) response = partial(request, file, *part);
  else send_part(response, request, file, 0, file->size());
  response.fields.emplace_back("ETag", etag);
  response.fields.emplace_back("Accept-Ranges", "bytes");
  if (response.status >= 300) return response;
  response.content_type = content_type;
  response.fields.emplace_back("Content-Disposition", fmt::format("attachment; filename=\"{}\"", name));
  return response;
}

http::Response body_of_file(const http::Request& request, const std::filesystem::path& path,
                            std::string_view content_type) {
  const auto file = opened(path, path.filename().string());
  http::Response response;
  send_part(response, request, file, 0, file->size());
  response.content_type = content_type;
  return response;
}

}  // namespace kedge::server::api
