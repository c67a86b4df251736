// The pages / and /docs, as HTML without scripts.
#include "server/api/pages.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "crypto/digest.h"
#include "crypto/random.h"
#include "schemas/codec.h"
#include "server/api/openapi.h"

namespace kedge::server::api {
namespace {

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{font-size:.95em}td{padding:.15rem 1rem .15rem 0;vertical-align:top}";

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kLinks{{
    {"/docs", "every call"},
    {"/openapi.json", "the contract, as OpenAPI 3.1"},
    {"/v1/info", "version and devices"},
    {"/v1/estimators", "what a pipeline can have as steps"},
    {"/v1/jobs", "jobs"},
    {"/v1/datasets", "uploaded data sets"},
    {"/v1/models", "stored models"},
    {"/metrics", "figures for Prometheus"},
}};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// The policy admits this style and nothing else, also no form, frame or base.
http::Response page(std::string_view title, std::string_view body) {
  http::Response response;
  response.content_type = "text/html; charset=utf-8";
  response.body = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
      "<title>{0}</title><style>{1}</style></head>\n<body><h1>{0}</h1>\n{2}</body></html>\n",
      escaped(title), kStyle, body);
  const std::string digest = crypto::base64(crypto::from_hex(crypto::sha256_hex(kStyle)));
  response.fields.emplace_back(
      "Content-Security-Policy",
      fmt::format("default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", digest));
  response.fields.emplace_back("Referrer-Policy", "no-referrer");
  return response;
}

const schema::Value* member(const schema::Value& value, std::string_view name) {
  const auto* map = std::get_if<schema::ValueMap>(&value.data);
  if (!map) return nullptr;
  for (const auto& [key, entry] : *map)
    if (key == name) return &entry;
  return nullptr;
}

std::string text_of(const schema::Value* value) {
  const auto* text = value ? std::get_if<std::string>(&value->data) : nullptr;
  return text ? *text : std::string();
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return out;
}

std::string rows_of_calls() {
  const schema::Value document = schema::value_from_json(openapi_json());
  const schema::Value* paths = member(document, "paths");
  std::string rows;
  for (const auto& [path, operations] : std::get<schema::ValueMap>(paths->data))
    for (const auto& [method, operation] : std::get<schema::ValueMap>(operations.data))
      fmt::format_to(std::back_inserter(rows), "<tr><td><code>{}</code></td><td><code>{}</code></td><td>{}</td><td>{}</td></tr>\n",
                     upper(method), escaped(path), escaped(text_of(member(operation, "summary"))),
                     escaped(text_of(member(operation, "x-kedge-scope"))));
  return rows;
}

}   // namespace

http::Response index_page(const std::string& name, const std::string& version) {
  std::string body = fmt::format("<p>This server runs machine-learning pipelines. Version {}.</p>\n<table>\n", escaped(version));
  for (const auto& [path, what] : kLinks)
    fmt::format_to(std::back_inserter(body), "<tr><td><a href=\"{0}\"><code>{0}</code></a></td><td>{1}</td></tr>\n", path, what);
  return page(name, body + "</table>\n");
}

http::Response docs_page() {
  static const std::string rows = rows_of_calls();   // the document is compiled in
  return page("Calls", fmt::format("<p><a href=\"/openapi.json\">openapi.json</a> is the whole contract. The last column names the scope "
                                   "that a token needs.</p>\n<table>\n{}</table>\n",
                                   rows));
}

}   // namespace kedge::server::api
