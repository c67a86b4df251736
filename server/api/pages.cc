// The page /, and what a page says of the calls: see pages.h.
#include "server/api/pages.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "schemas/codec.h"
#include "server/api/html.h"
#include "server/api/openapi.h"

namespace kedge::server::api {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kLinks{{
    {"/ui/", "jobs, models, data sets and devices, to look at and to use"},
    {"/docs", "every call"},
    {"/docs/estimators", "every estimator and its parameters"},
    {"/openapi.json", "the contract, as OpenAPI 3.1"},
    {"/v1/info", "version and devices"},
    {"/v1/estimators", "what a pipeline can have as steps"},
    {"/v1/jobs", "jobs"},
    {"/v1/datasets", "uploaded data sets"},
    {"/v1/models", "stored models"},
    {"/metrics", "figures for Prometheus"},
}};

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

const schema::ValueMap& map_of(const schema::Value* value) {
  static const schema::ValueMap none;
  const auto* map = value ? std::get_if<schema::ValueMap>(&value->data) : nullptr;
  return map ? *map : none;
}

const schema::ValueList& list_of(const schema::Value* value) {
  static const schema::ValueList none;
  const auto* list = value ? std::get_if<schema::ValueList>(&value->data) : nullptr;
  return list ? *list : none;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  return out;
}

// {"$ref": "#/components/parameters/NAME"} as what it stands for.
const schema::Value& resolved(const schema::Value& document, const schema::Value& value) {
  std::string path = text_of(member(value, "$ref"));
  const schema::Value* at = &document;
  for (std::size_t slash = path.find('/'); slash != std::string::npos && at;) {
    const std::size_t next = path.find('/', slash + 1);
    at = member(*at, path.substr(slash + 1, next == std::string::npos ? next : next - slash - 1));
    slash = next;
  }
  return path.empty() || !at ? value : *at;
}

std::string type_of(const schema::Value& schema) {
  const std::string name = text_of(member(schema, "$ref"));
  if (!name.empty()) return name.substr(name.rfind('/') + 1);
  return text_of(member(schema, "type"));
}

std::string parameter_rows(const schema::Value& document, const schema::Value& operation) {
  std::string rows;
  for (const schema::Value& given : list_of(member(operation, "parameters"))) {
    const schema::Value& parameter = resolved(document, given);
    const schema::Value* schema = member(parameter, "schema");
    fmt::format_to(std::back_inserter(rows), "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                   escaped(text_of(member(parameter, "name"))), escaped(text_of(member(parameter, "in"))),
                   schema ? escaped(type_of(*schema)) : "", escaped(text_of(member(parameter, "description"))));
  }
  return rows.empty()
             ? ""
             : "<table><tr><th>parameter</th><th>in</th><th>type</th><th>meaning</th></tr>\n" + rows + "</table>\n";
}

// "application/json (JobSpec), text/csv"
std::string media_types(const schema::Value& message) {
  std::string types;
  for (const auto& [type, form] : map_of(member(message, "content"))) {
    const schema::Value* schema = member(form, "schema");
    const std::string name = schema ? text_of(member(*schema, "$ref")) : "";
    fmt::format_to(std::back_inserter(types), "{}<code>{}</code>{}", types.empty() ? "" : ", ", escaped(type),
                   name.empty() ? "" : " (" + escaped(name.substr(name.rfind('/') + 1)) + ")");
  }
  return types;
}

std::string answer_rows(const schema::Value& document, const schema::Value& operation) {
  std::string rows;
  for (const auto& [status, given] : map_of(member(operation, "responses"))) {
    const schema::Value& answer = resolved(document, given);
    fmt::format_to(std::back_inserter(rows), "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>\n",
                   escaped(status), escaped(text_of(member(answer, "description"))), media_types(answer));
  }
  return "<table><tr><th>answer</th><th></th><th>body</th></tr>\n" + rows + "</table>\n";
}

std::string section_of(const schema::Value& document, std::string_view method, std::string_view path,
                       const schema::Value& operation) {
  const schema::Value* body = member(operation, "requestBody");
  const std::string scope = text_of(member(operation, "x-kedge-scope"));
  return fmt::format(
      "<section id=\"{}\"><h2><code>{} {}</code></h2>\n<p>{} <span class=\"dim\">{}</span></p>\n{}{}{}</section>\n",
      escaped(text_of(member(operation, "operationId"))), upper(method), escaped(path),
      escaped(text_of(member(operation, "summary"))),
      scope == "public" ? "Needs no token." : "Needs the scope " + escaped(scope) + ".",
      body ? "<p>Body: " + media_types(*body) + "</p>\n" : "", parameter_rows(document, operation),
      answer_rows(document, operation));
}

// All calls in a table, and a section for each.
std::string calls() {
  const schema::Value document = schema::value_from_json(openapi_json());
  std::string rows, sections;
  for (const auto& [path, operations] : map_of(member(document, "paths")))
    for (const auto& [method, operation] : map_of(&operations)) {
      fmt::format_to(
          std::back_inserter(rows),
          "<tr><td><code>{}</code></td><td><code>{}</code></td><td><a href=\"#{}\">{}</a></td><td>{}</td></tr>\n",
          upper(method), escaped(path), escaped(text_of(member(operation, "operationId"))),
          escaped(text_of(member(operation, "summary"))), escaped(text_of(member(operation, "x-kedge-scope"))));
      sections += section_of(document, method, path, operation);
    }
  return "<table>\n<tr><th>method</th><th>path</th><th></th><th>scope</th></tr>\n" + rows + "</table>\n" + sections;
}

}   // namespace

http::Response index_page(const std::string& name, const std::string& version) {
  std::string body = fmt::format("<p>This server runs machine-learning pipelines. Version {}.</p>\n<table>\n", escaped(version));
  for (const auto& [path, what] : kLinks)
    fmt::format_to(std::back_inserter(body), "<tr><td><a href=\"{0}\"><code>{0}</code></a></td><td>{1}</td></tr>\n", path, what);
  return html_page(name, body + "</table>\n");
}

http::Response docs_page() {
  static const std::string body = calls();   // the document is compiled in
  return html_page(
      "Calls",
      "<p><a href=\"/openapi.json\">openapi.json</a> is the whole contract, with the schemas that are named here. "
      "The last column names the scope that a token needs.</p>\n" +
          body);
}

}   // namespace kedge::server::api
