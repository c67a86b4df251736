// A file on disk as an answer: whole, or the part that Range names (RFC 9110, 14).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace kedge::server::api {

// Files are written once: size, time and place tell one content from another. Empty of a file that is not there.
std::string etag_of(const std::filesystem::path& path);

// 304, where the client has this content already.
std::optional<http::Response> unchanged(const http::Request& request, std::string_view etag);

// Offers the file as a download under `name`. A Range of one part is honoured with 206; a part that begins behind the
// end is 416; a Range of several parts, or one that cannot be read, is ignored. What is longer than 64 KiB is read from
// the open file as the client takes it. etag: empty for that of the file. Errors: kNotFound.
http::Response file_answer(const http::Request& request, const std::filesystem::path& path,
                           std::string_view content_type, std::string_view name, std::string etag = {});

// The whole file as the answer to a request that names none. Errors: kNotFound.
http::Response body_of_file(const http::Request& request, const std::filesystem::path& path,
                            std::string_view content_type);

}  // namespace kedge::server::api
