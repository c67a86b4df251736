// Errors for people and for programs.
#include "client/cli/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "client/cli/target.h"
#include "schemas/codec.h"

namespace kedge::cli {
namespace {

// INVALID_VALUE -> invalid-value
std::string in_lower_case(std::string_view code, char joined_by) {
  std::string text(code);
  std::ranges::transform(text, text.begin(), [&](char c) {
    return c == '_' ? joined_by : static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  return text;
}

}   // namespace

std::string problem_json(const schema::Error& error) {
  const std::string code(schema::error_code_name(error.code));
  schema::ValueMap problem;
  problem.emplace_back("type", "urn:kedge:problem:" + in_lower_case(code, '-'));
  problem.emplace_back("title", in_lower_case(code, ' '));
  problem.emplace_back("status", schema::http_status(error.code));
  problem.emplace_back("detail", error.message);
  problem.emplace_back("code", code);
  if (!error.where.empty()) problem.emplace_back("where", error.where);
  return schema::value_to_json(schema::Value(std::move(problem)));
}

int report(const schema::Error& error, const Options& options) {
  const std::string place = error.where.empty() ? "" : " at " + error.where;
  if (options.json) fmt::print("{}\n", problem_json(error));
  fmt::print(stderr, "kedge: {} [{}{}]\n", error.message, schema::error_code_name(error.code), place);
  if (error.code != schema::ErrorCode::kConnection) return kFailed;
  if (speaks_to_current_machine(options))
    fmt::print(
        stderr,
        "It is the current machine: `kedge machines` says whether it is still there, `kedge up` rents another.\n");
  return kNoServer;
}

void print_text(const std::string& text, const Options& options) {
  if (options.json) fmt::print("{}\n", schema::value_to_json(schema::Value(schema::ValueMap{{"text", text}})));
  else fmt::print("{}", text);
}

}   // namespace kedge::cli
