// What a server says about a body: the fields of an answer that matter here, and whether a broken download may go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kedge::server {

struct HttpAnswer {
  long status = 0;
  std::string etag, last_modified, date, location, content_encoding, content_range, retry_after;

  void read_line(std::string_view line);   // one line of the head; a status line begins a new answer
  bool is_plain() const;                   // no content coding
  bool is_gzip() const;
};

// A validator for If-Range, so that a server sends the rest only of the same bytes: a strong ETag, or a Last-Modified at least a
// minute before the answer (RFC 9110, 8.8.2.2). Empty: there is none, and a broken download must start over.
std::string resume_validator(const HttpAnswer& answer);

// Where the part of a 206 begins; nothing when its Content-Range is not understood.
std::optional<std::int64_t> range_start(const HttpAnswer& answer);

}  // namespace kedge::server
