// The strict gate between the raw header block and everything else.
//
// Beast 1.81 accepts several forms that let two parties disagree on where a request ends (unknown transfer
// codings, both framings at once, folded lines, several Hosts). The gate reads the raw bytes on its own and
// lets pass only what has one meaning. HTTP/1.0 passes by the same rules, with Host or without it, and without transfer codings,
// which it does not have.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/http/limits.h"

namespace kedge::server::http {

// How the request is framed, as the gate understood it.
struct Framing {
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool close = false;   // after the answer: the client wants it, or speaks HTTP/1.0
  bool expects_continue = false;
  bool is_http_1_0 = false;  // knows no chunks: a body without a length ends with the connection
  bool has_body() const { return chunked || content_length.value_or(0) > 0; }
};

// `head` is everything up to and with the empty line. Throws Refusal: 400 for what is malformed or ambiguous,
// 414, 415, 417, 431, 501 for methods and codings that are not offered, 505 for versions.
Framing check_head(std::string_view head, const Limits& limits);

}  // namespace kedge::server::http
