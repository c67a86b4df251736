// A file on disk as an answer: whole, or the part that Range names (RFC 9110, 14).
#pragma once

#include <filesystem>
#include <string_view>

#include "server/http/message.h"

namespace kedge::server::api {

// Offers the file as a download under `name`. A Range of one part is honoured with 206; a part that begins behind the
// end is 416; a Range of several parts, or one that cannot be read, is ignored. What is longer than 64 KiB is read from the open file as
// the client takes it. Errors: kNotFound.
http::Response file_answer(const http::Request& request, const std::filesystem::path& path, std::string_view content_type,
                           std::string_view name);

}  // namespace kedge::server::api
