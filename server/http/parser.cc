// Beast's basic_parser, filling a plain Request.
#include "server/http/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "server/http/refusal.h"

namespace kedge::server::http {

namespace beast = boost::beast;

namespace {
constexpr std::uint64_t kSmallChunk = 1024;  // an upload whose chunks are larger may have any number of them
// "0\r\n\r\n", the shortest end of a chunked body. Beast 1.81 asserts that the rest of a last chunk, whose line it has seen, is as long.
constexpr std::size_t kLastChunk = 5;
}

struct RequestParser::Impl final : beast::http::basic_parser<true> {
  using Code = beast::error_code;
  using Text = beast::string_view;

  explicit Impl(const Limits& limits) : limits(limits) {
    // The gate has counted the header block; Beast counts it its own way and again for trailers.
    header_limit(static_cast<std::uint32_t>(limits.head_bytes + limits.chunk_head_bytes));
    body_limit(std::max(limits.body_bytes, limits.upload_bytes));  // until the route is known
  }

  void on_request_impl(beast::http::verb, Text method, Text target, int, Code&) override {
    request.method = std::string(method);
    request.target = std::string(target);
  }
  void on_response_impl(int, Text, int, Code&) override {}
  void on_field_impl(beast::http::field, Text name, Text value, Code&) override {
    if (!in_body) request.fields.emplace_back(std::string(name), std::string(value));
  }
  void on_header_impl(Code&) override { in_body = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, Code&) override {
    // Not all of what is announced: a client that sends nothing should cost nothing.
    if (length && keeps_body) request.body.reserve(std::min<std::uint64_t>(*length, 1 << 20));
  }
  std::size_t on_body_impl(Text bytes, Code&) override { return append(bytes); }
  void on_chunk_header_impl(std::uint64_t, Text extension, Code& error) override {
    if (++chunks > limits.chunks + body_bytes / kSmallChunk || extension.size() > limits.chunk_extension_bytes)
      error = beast::http::error::bad_chunk_extension;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, Code&) override { return append(bytes); }
  void on_finish_impl(Code&) override {}

  std::size_t append(Text bytes) {
    if (keeps_body) request.body.append(bytes.data(), bytes.size());
    if (is_upload) body_bytes += bytes.size();
    return bytes.size();
  }

  const Limits& limits;
  Request request;
  std::size_t chunks = 0;
  std::uint64_t most_bytes = std::max(limits.body_bytes, limits.upload_bytes), body_bytes = 0;
  bool in_body = false, is_upload = false, keeps_body = true;
};

RequestParser::RequestParser(const Limits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

void RequestParser::limit_body(std::uint64_t bytes, bool is_upload) {
  impl_->is_upload = is_upload;
  impl_->most_bytes = bytes;
  impl_->body_limit(bytes);
}

// Whether the line of a chunk's size, which `bytes` begin with (or with the line end before it), ends within quotes. Beast would look for their
// end behind the line, and take the chunk from the body's bound each time that it looks.
static bool has_open_quote(std::string_view bytes) {
  if (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  const auto end = bytes.find("\r\n");
  if (end == std::string_view::npos) return false;
  bool is_open = false;
  for (std::size_t i = 0; i < end; ++i) {
    if (is_open && bytes[i] == '\\') ++i;
    else if (bytes[i] == '"') is_open = !is_open;
  }
  return is_open;
}

std::size_t RequestParser::put(std::string_view bytes) {
  impl_->eager(impl_->in_body);
  if (impl_->in_body && impl_->chunked() && bytes.size() < kLastChunk && bytes.starts_with('0')) return 0;
  beast::error_code error;
  const std::size_t used = impl_->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  if (error == beast::http::error::need_more && impl_->in_body && impl_->chunked() && has_open_quote(bytes.substr(used)))
    throw Refusal(400, "a chunk's extension has a quote without an end");
  if (!error || error == beast::http::error::need_more) return used;
  if (error == beast::http::error::body_limit)
    throw Refusal(413, fmt::format("the body is larger than {} bytes", impl_->most_bytes),
                  schema::ErrorCode::kBodyTooLarge);
  throw Refusal(400, fmt::format("the request is malformed: {}", error.message()));
}

void RequestParser::leave_body() {
  impl_->keeps_body = false;
  std::string().swap(impl_->request.body);
}

bool RequestParser::done() const {
  return impl_->is_done();
}
Request& RequestParser::request() {
  return impl_->request;
}

}  // namespace kedge::server::http
