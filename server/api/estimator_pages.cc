// The pages of /docs/estimators, from the catalogue.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "schemas/codec.h"
#include "server/api/answer.h"
#include "server/api/api.h"
#include "server/api/html.h"
#include "server/api/pages.h"

namespace kedge::server::api {
namespace {

using schema::EstimatorInfo;
using schema::ParamForm;
using schema::ParamInfo;

std::string bounds_of(const ParamForm& form) {
  std::string text;
  if (form.minimum) text += fmt::format(" {} {}", form.exclusiveMinimum ? "&gt;" : "≥", *form.minimum);
  if (form.maximum)
    text += fmt::format("{} {} {}", form.minimum ? " and" : "", form.exclusiveMaximum ? "&lt;" : "≤", *form.maximum);
  return text;
}

std::string words_of(const ParamForm& form) {
  using Type = ParamForm::Type;
  switch (form.type) {
    case Type::kNull:
      return "null";
    case Type::kBoolean:
      return "true or false";
    case Type::kInteger:
      return "integer" + bounds_of(form);
    case Type::kNumber:
      return "number" + bounds_of(form);
    case Type::kObject:
      return "object";
    case Type::kArray:
      return "list";
    case Type::kString:
      break;
  }
  std::string text;
  for (const std::string& choice : form.choices)
    text += (text.empty() ? "<code>" : ", <code>") + escaped(choice) + "</code>";
  return text.empty() ? "text" : text;
}

std::string row_of(const ParamInfo& param) {
  std::string forms;
  for (const ParamForm& form : param.forms) forms += (forms.empty() ? "" : "; ") + words_of(form);
  return fmt::format("<tr><td><code>{}</code></td><td><code>{}</code></td><td>{}</td><td>{}</td></tr>\n",
                     escaped(param.name), escaped(schema::to_string(param.defaultValue)), forms, escaped(param.doc));
}

std::string list_of(std::string_view title, const std::vector<std::string>& texts, bool are_names) {
  if (texts.empty()) return {};
  std::string items;
  for (const std::string& text : texts)
    items += are_names ? "<li><code>" + escaped(text) + "</code></li>\n" : "<li>" + escaped(text) + "</li>\n";
  return fmt::format("<h2>{}</h2>\n<ul>\n{}</ul>\n", title, items);
}

std::string body_of(const EstimatorInfo& info) {
  std::string params;
  for (const ParamInfo& param : info.params) params += row_of(param);
  return fmt::format("<p>{}</p>\n<p class=\"dim\">{} of <code>sklearn.{}</code></p>\n", escaped(info.doc),
                     escaped(info.kind), escaped(info.family)) +
         (params.empty()
              ? ""
              : "<h2>Parameters</h2>\n<table><tr><th>name</th><th>default</th><th>values</th><th>meaning</th></tr>\n" +
                    params + "</table>\n") +
         list_of("Attributes of the fitted estimator", info.attributes, true) +
         list_of("Where it differs from scikit-learn", info.deviations, false) +
         (info.hostPart.empty() ? "" : "<h2>On a GPU</h2>\n<p>The host computes " + escaped(info.hostPart) + ".</p>\n");
}

}   // namespace

awaitable<Response> get_estimator_docs(const Api& api, Request request) {
  check_query(request, {});
  std::map<std::string, std::string> families;   // their rows
  for (const EstimatorInfo& info : api.catalogue.estimators)
    fmt::format_to(std::back_inserter(families[info.family]),
                   "<tr><td><a href=\"/docs/estimators/{0}\">{0}</a></td><td>{1}</td><td>{2}</td></tr>\n",
                   escaped(info.name), escaped(info.kind), escaped(info.doc));
  std::string body = fmt::format("<p>{} estimators, with scikit-learn's names, parameters and defaults.</p>\n",
                                 api.catalogue.estimators.size());
  for (const auto& [family, rows] : families)
    body += "<h2>" + escaped(family) + "</h2>\n<table>\n" + rows + "</table>\n";
  co_return html_page("Estimators", body);
}

awaitable<Response> get_estimator_doc(const Api& api, Request request) {
  check_query(request, {});
  const EstimatorInfo& info = find_estimator(api.catalogue, request.capture("name"));
  co_return html_page(info.name, body_of(info));
}

}   // namespace kedge::server::api
