// /ui/: the files of the page, compiled into the program. They are public; the calls that the page makes need its
// token.
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crypto/digest.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/ui_files.h"
#include "server/http/compress.h"

namespace kedge::server::api {
namespace {

// The page runs its own scripts and speaks to its own server, and nothing else; no page can frame it. Trusted types
// keep text from becoming HTML by a slip.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".txt", "text/plain; charset=utf-8"},
}};

std::string_view type_of(std::string_view name) {
  for (const auto& [ending, type] : kTypes)
    if (name.ends_with(ending)) return type;
  return "application/octet-stream";
}

// A file in all the forms in which it is sent, compressed once.
struct Served {
  std::string_view name;
  std::string etag;
  Response plain, gzip, zstd;
};

// Better compressed than answers are, because it is done once. Empty when it cannot be done.
std::string gzip(std::string_view text) {
  constexpr int kGzip = 15 + 16, kMemory = 9;   // the largest window, with gzip's header
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));   // read only
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(is_done ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

Response answer_with(const UiFile& file, const std::string& etag, std::string_view coding) {
  Response response;
  response.content_type = type_of(file.name);
  response.body = std::string(file.content);
  http::compress(response, coding);
  const auto is_coded = [](const auto& field) { return field.first == "Content-Encoding"; };
  if (coding == "gzip" && std::ranges::any_of(response.fields, is_coded))
    if (std::string smaller = gzip(file.content); !smaller.empty() && smaller.size() < response.body.size())
      response.body = std::move(smaller);
  response.fields.emplace_back("ETag", etag);
  response.fields.emplace_back("Cache-Control",
                               "no-cache");   // kept, and asked for each time: a new server has new files
  response.fields.emplace_back("Content-Security-Policy", kPolicy);
  response.fields.emplace_back("Referrer-Policy", "no-referrer");
  response.fields.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  return response;
}

std::vector<Served> served_files() {
  std::vector<Served> served;
  for (const UiFile& file : ui_files()) {
    std::string etag = fmt::format("\"{}\"", crypto::sha256_hex(file.content).substr(0, 32));
    served.push_back({.name = file.name,
                      .etag = etag,
                      .plain = answer_with(file, etag, "identity"),
                      .gzip = answer_with(file, etag, "gzip"),
                      .zstd = answer_with(file, etag, "zstd")});
  }
  return served;
}

Response file_named(const Request& request, std::string_view name) {
  static const std::vector<Served> files = served_files();   // they are compiled in
  const auto file = std::ranges::find(files, name, &Served::name);
  if (file == files.end())
    throw schema::Error(schema::ErrorCode::kNotFound, fmt::format("the page has no file '{}'", name));
  if (request.field("If-None-Match").find(file->etag) != std::string_view::npos) {
    Response same = file->plain;
    same.status = 304;
    same.body.clear();
    return same;
  }
  const std::string_view coding = http::choose_encoding(request.field("Accept-Encoding"));
  return coding == "zstd" ? file->zstd : coding == "gzip" ? file->gzip : file->plain;
}

}   // namespace

// Relative, so that it holds behind a proxy that adds to the path.
awaitable<Response> get_ui_slash(const Api&, Request request) {
  check_query(request, {});
  Response response;
  response.status = 308;
  response.fields.emplace_back("Location", "ui/");
  co_return response;
}

awaitable<Response> get_ui(const Api&, Request request) {
  check_query(request, {});
  co_return file_named(request, "index.html");
}

awaitable<Response> get_ui_file(const Api&, Request request) {
  check_query(request, {});
  co_return file_named(request, request.capture("file"));
}

}   // namespace kedge::server::api
