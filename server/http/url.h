// Percent-encoding and query strings.
#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace kedge::server::http {

// Decodes %XX, and '+' as a space if `plus_is_space`. Throws schema::Error kMalformed for half an escape and
// for %00.
std::string percent_decode(std::string_view text, bool plus_is_space);

// Splits the target into the raw path and the decoded query.
void split_target(std::string_view target, std::string& path, Fields& query);

}  // namespace kedge::server::http
