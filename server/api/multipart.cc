// Parses a multipart body.
#include "server/api/multipart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "schemas/error.h"

namespace kedge::server::api {
namespace {

using http::net::awaitable;
using std::string_view;

constexpr std::size_t kBuffer = 64 * 1024;
constexpr std::size_t kMostParts = 16, kLongestHead = 8 * 1024, kLongestEpilogue = 4 * 1024, kLongestBoundary = 70;

[[noreturn]] void refuse(std::string text) {
  throw schema::Error(schema::ErrorCode::kMalformed, std::move(text));
}

// The value of `name="..."` or name=... among the parameters of a field; empty if it is not there.
std::string parameter(string_view field, string_view name) {
  while (true) {
    const auto semicolon = field.find(';');
    if (semicolon == string_view::npos) return {};
    field.remove_prefix(semicolon + 1);
    field.remove_prefix(std::min(field.find_first_not_of(" \t"), field.size()));
    const auto equals = field.find('=');
    if (equals == string_view::npos) return {};
    const bool is_it = http::same_name(field.substr(0, equals), name);
    string_view value = field.substr(equals + 1);
    if (value.starts_with('"')) {
      const auto close = value.find('"', 1);
      if (close == string_view::npos) return {};
      if (is_it) return std::string(value.substr(1, close - 1));
      field = value.substr(close + 1);
    } else {
      if (is_it) return std::string(value.substr(0, value.find_first_of("; \t")));
      field = value;
    }
  }
}

std::string separator_of(string_view content_type) {
  const std::string boundary = parameter(content_type, "boundary");
  if (boundary.empty() || boundary.size() > kLongestBoundary)
    refuse(fmt::format("the multipart body needs a boundary of 1 to {} characters", kLongestBoundary));
  return "\r\n--" + boundary;
}

// `head`: lines, each with its end.
Multipart::Part parse_fields(string_view head) {
  Multipart::Part part;
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    const string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    const auto colon = line.find(':');
    if (colon == string_view::npos) continue;
    string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    if (http::same_name(line.substr(0, colon), "Content-Disposition")) {
      part.name = parameter(value, "name");
      part.file_name = parameter(value, "filename");
    } else if (http::same_name(line.substr(0, colon), "Content-Type")) {
      part.content_type = value;
    }
  }
  return part;
}

}   // namespace

// A line end in front of the body makes its first boundary like all others.
Multipart::Multipart(http::BodyReader& body, string_view content_type)
    : body_(body), separator_(separator_of(content_type)), buffer_(std::make_unique_for_overwrite<char[]>(kBuffer)), end_(2) {
  std::memcpy(buffer_.get(), "\r\n", 2);
}

// False at the end of the body.
awaitable<bool> Multipart::fill() {
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_, begin_ = 0;
  const std::size_t n = co_await body_.read_into({buffer_.get() + end_, kBuffer - end_});
  end_ += n;
  co_return n > 0;
}

// Until so many bytes are here; false when the body ends before.
awaitable<bool> Multipart::fill_to(std::size_t bytes) {
  while (end_ - begin_ < bytes) {
    const bool more = co_await fill();
    if (!more) co_return false;
  }
  co_return true;
}

awaitable<std::optional<Multipart::Part>> Multipart::next() {
  const bool there = co_await fill_to(separator_.size() + 2);
  if (n_parts_ == 0 && !here().starts_with(separator_)) refuse("the multipart body does not begin with its boundary");
  if (!there) refuse("the multipart body has no closing boundary");
  begin_ += separator_.size();
  if (here().starts_with("--")) {
    begin_ += 2;
    co_await read_epilogue();
    co_return std::nullopt;
  }
  if (!here().starts_with("\r\n"))
    refuse(fmt::format("the boundary behind part '{}' of the multipart body is not alone on its line", name_));
  if (++n_parts_ > kMostParts)
    throw schema::Error(schema::ErrorCode::kBodyTooLarge, fmt::format("the multipart body has more than {} parts", kMostParts));
  Part part = co_await read_fields();
  name_ = part.name;
  co_return part;
}

// From the line end behind the boundary, which a part without fields shares with their end.
awaitable<Multipart::Part> Multipart::read_fields() {
  while (true) {
    const auto end = here().substr(0, kLongestHead).find("\r\n\r\n");
    if (end != string_view::npos) {
      Part part = parse_fields(here().substr(2, end));
      begin_ += end + 4;
      if (part.name.empty()) refuse(fmt::format("part {} of the multipart body has no name", n_parts_));
      co_return part;
    }
    const bool goes_on = here().size() < kLongestHead && co_await fill();
    if (!goes_on) refuse(fmt::format("part {} of the multipart body has no empty line within {} bytes", n_parts_, kLongestHead));
  }
}

awaitable<void> Multipart::read_epilogue() {
  for (std::size_t read = 0;; read += here().size()) {
    begin_ = end_;
    const bool more = co_await fill();
    if (!more) co_return;
    if (read > kLongestEpilogue)
      refuse(fmt::format("more than {} bytes follow the closing boundary of the multipart body", kLongestEpilogue));
  }
}

awaitable<std::size_t> Multipart::read_into(std::span<char> space) {
  while (true) {
    const auto end = here().find(separator_);
    if (end == 0) co_return 0;
    // The last bytes may begin the separator.
    const std::size_t sure = end != string_view::npos ? end : here().size() - std::min(here().size(), separator_.size() - 1);
    if (sure > 0) {
      const std::size_t n = std::min(sure, space.size());
      std::memcpy(space.data(), here().data(), n);
      begin_ += n;
      co_return n;
    }
    const bool more = co_await fill();
    if (!more) refuse(fmt::format("part '{}' of the multipart body ends without a boundary", name_));
  }
}

}   // namespace kedge::server::api
