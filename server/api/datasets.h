// What data set calls and jobs that bring their data share.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/api/api.h"
#include "server/http/message.h"

namespace kedge::server::api {

// "csv", "arff", "libsvm" or "npy" by the ending of a file's name, else by its media type; empty when neither tells.
std::string format_of(std::string_view file_name, std::string_view content_type);

// Throws kUnavailable where no uploads are taken.
Uploads& uploads(const Api& api);

// Takes a body, or a part of one, to disk piece by piece; one piece is in memory.
http::net::awaitable<void> receive(http::BodyReader& body, http::Peer& peer, Uploads::Upload& upload);
// Does what may take its time with an upload that has come: parses it. Errors: those of the parser.
http::net::awaitable<void> finish(const Api& api, http::Peer& peer, const std::function<void()>& work);

}  // namespace kedge::server::api
