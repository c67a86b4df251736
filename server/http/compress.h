// Answers in less bytes, for clients that take them: gzip (RFC 1952) and zstd (RFC 8878).
#pragma once

#include <string_view>

#include "server/http/message.h"

namespace kedge::server::http {

// Replaces the body by a compressed one and says so, if `accept_encoding` allows it and it is worth the while: text of 1 KiB
// or more, not yet encoded, not a stream. Says Vary whenever it looked at the field,
// and leaves alone what says so already.
void compress(Response& response, std::string_view accept_encoding);

// "zstd", "gzip" or empty, as the client prefers; zstd among equals.
std::string_view choose_encoding(std::string_view accept_encoding);

}  // namespace kedge::server::http
