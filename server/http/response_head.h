// Status line and fields of an answer, as bytes.
#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace kedge::server::http {

// `may_chunk`: the client knows chunks; a body whose length is not known ends with the connection otherwise.
std::string response_head(const Response& response, std::string_view request_id, bool keep_alive, bool may_chunk = true);

// The answer to a request for another server: 421.
Response wrong_host(const Request& request);

// 404, 405, or the answer to OPTIONS; `allow` as in Match.
Response without_route(const Request& request, const std::string& allow);

}  // namespace kedge::server::http
