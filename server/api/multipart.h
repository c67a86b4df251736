// multipart/form-data (RFC 7578), as curl -F and browsers send it, parsed while it comes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace kedge::server::api {

// Reads a body part by part, and is itself the reader of the current part; 64 KiB are in memory. Errors: kMalformed,
// which names the part; kBodyTooLarge for too many parts.
class Multipart final : public http::BodyReader {
 public:
  struct Part {
    std::string name, file_name, content_type;
  };

  Multipart(http::BodyReader& body, std::string_view content_type);   // the body must outlive it
  // The fields of the next part, when the one before has been read to its end. Unset behind the last, and the body has then
  // ended.
  http::net::awaitable<std::optional<Part>> next();
  http::net::awaitable<std::size_t> read_into(std::span<char> space) override;

 private:
  std::string_view here() const { return {buffer_.get() + begin_, end_ - begin_}; }
  http::net::awaitable<bool> fill();
  http::net::awaitable<bool> fill_to(std::size_t bytes);
  http::net::awaitable<Part> read_fields();
  http::net::awaitable<void> read_epilogue();

  http::BodyReader& body_;
  const std::string separator_;   // "\r\n--" and the boundary
  const std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;   // of what is not used yet
  std::size_t n_parts_ = 0;
  std::string name_;   // of the current part
};

}   // namespace kedge::server::api
