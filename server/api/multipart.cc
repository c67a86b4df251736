// Taking a multipart body apart.
#include "server/api/multipart.h"

#include <fmt/format.h>

#include "schemas/error.h"
#include "server/http/message.h"

namespace kedge::server::api {
namespace {

using std::string_view;

constexpr std::size_t kMostParts = 16;

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

Multipart::Part read_part(string_view text) {
  const auto head_end = text.find("\r\n\r\n");
  if (head_end == string_view::npos) refuse("a part of the multipart body has no empty line behind its fields");
  Multipart::Part part;
  part.bytes = text.substr(head_end + 4);
  string_view head = text.substr(0, head_end + 2);
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

}  // namespace

Multipart::Multipart(string_view content_type, string_view body) {
  const std::string boundary = parameter(content_type, "boundary");
  if (boundary.empty() || boundary.size() > 70) refuse("the multipart body needs a boundary of 1 to 70 characters");
  const std::string separator = "\r\n--" + boundary;
  const string_view opening = string_view(separator).substr(2);
  if (!body.starts_with(opening)) refuse("the multipart body does not begin with its boundary");
  body.remove_prefix(opening.size());
  while (!body.starts_with("--")) {
    if (!body.starts_with("\r\n")) refuse("a boundary of the multipart body is not alone on its line");
    const auto end = body.find(separator, 2);
    if (end == string_view::npos) refuse("the multipart body has no closing boundary");
    if (parts_.size() == kMostParts) refuse(fmt::format("the multipart body has more than {} parts", kMostParts));
    parts_.push_back(read_part(body.substr(2, end - 2)));
    body.remove_prefix(end + separator.size());
  }
}

const Multipart::Part& Multipart::get(string_view name) const {
  const Part* found = nullptr;
  for (const Part& part : parts_) {
    if (part.name != name) continue;
    if (found) refuse(fmt::format("the multipart body has two parts '{}'", name));
    found = &part;
  }
  if (!found) refuse(fmt::format("the multipart body has no part '{}'", name));
  return *found;
}

}  // namespace kedge::server::api
