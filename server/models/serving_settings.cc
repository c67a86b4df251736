// Reading and writing how a model is served: see serving_settings.h.
#include "server/models/serving_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "schemas/codec.h"
#include "schemas/error.h"
#include "schemas/whole_number.h"

namespace kedge::server {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;
using schema::ValueMap;

constexpr std::int64_t kMostBatchRows = 65'536, kMostDelayUs = 100'000;
constexpr std::int64_t kFewestLogBytes = 4096, kUsualLogBytes = 1 << 20;
constexpr std::size_t kLongBody = 256 << 10;

std::int64_t whole_number(const Value& value, const char* field, std::int64_t low, std::int64_t high) {
  const std::optional<std::int64_t> number = schema::whole_number(value);
  if (!number || *number < low || *number > high)
    throw Error(
        ErrorCode::kInvalidValue,
        fmt::format("{} is {}, must be a whole number from {} to {}", field, schema::to_string(value), low, high),
        field);
  return *number;
}

double fraction_of(const Value& value) {
  const auto* number = std::get_if<double>(&value.data);
  const auto* whole = std::get_if<std::int64_t>(&value.data);
  const double fraction = number ? *number : whole ? static_cast<double>(*whole) : -1;
  if (!(fraction >= 0 && fraction <= 1))
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("log.fraction is {}, must be a number from 0 to 1", schema::to_string(value)),
                "log.fraction");
  return fraction;
}

void read_log(ServingSettings& settings, const Value& value) {
  if (value.is_null()) return;
  const auto* fields = std::get_if<ValueMap>(&value.data);
  if (!fields)
    throw Error(ErrorCode::kInvalidValue, fmt::format("log is {}, must be an object or null", schema::to_string(value)),
                "log");
  settings.log_max_bytes = kUsualLogBytes;
  bool has_fraction = false;
  for (const auto& [name, field] : *fields) {
    if (name == "fraction") settings.log_fraction = fraction_of(field), has_fraction = true;
    else if (name == "maxBytes")
      settings.log_max_bytes = whole_number(field, "log.maxBytes", kFewestLogBytes, kMostLogBytes);
    else
      throw Error(ErrorCode::kUnknownField,
                  fmt::format("log: unknown field '{}', known are fraction and maxBytes", name), "log." + name);
  }
  if (!has_fraction)
    throw Error(ErrorCode::kInvalidValue, "log.fraction is missing, must be a number from 0 to 1", "log.fraction");
  if (settings.log_fraction == 0) settings.log_max_bytes = 0;   // off
}

// A row is an array or an object in the array of rows, which is the body or a member of it.
std::int64_t rows_in_json(std::string_view body) {
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  const int depth_of_rows = first != std::string_view::npos && body[first] == '{' ? 2 : 1;
  int depth = 0;
  bool is_in_text = false;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (is_in_text) {
      if (c == '\\') ++i;
      else is_in_text = c != '"';
    } else if (c == '"') {
      is_in_text = true;
    } else if (c == '[' || c == '{') {
      rows += depth++ == depth_of_rows ? 1 : 0;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return rows;
}

std::int64_t rows_in_csv(std::string_view body, bool has_header) {
  std::int64_t lines = 0;
  char before = '\n';
  for (const char c : body) {
    if (before == '\n' && c != '\n' && c != '\r') ++lines;
    before = c;
  }
  return lines - (has_header ? 1 : 0);
}

// The first number of 'shape': (rows, columns) in the header.
std::int64_t rows_in_npy(std::string_view body) {
  constexpr std::string_view kShape = "'shape': (";
  const std::size_t at = body.substr(0, 512).find(kShape);
  std::int64_t rows = 1;
  if (at != std::string_view::npos) std::from_chars(body.data() + at + kShape.size(), body.data() + body.size(), rows);
  return rows;
}

}   // namespace

ServingSettings serving_settings_of(std::string_view json) {
  const Value body = schema::value_from_json(json);
  const auto* fields = std::get_if<ValueMap>(&body.data);
  if (!fields) throw Error(ErrorCode::kMalformed, "body: it is no object");
  ServingSettings settings;
  for (const auto& [name, value] : *fields) {
    if (name == "maxBatchRows") settings.max_batch_rows = whole_number(value, "maxBatchRows", 0, kMostBatchRows);
    else if (name == "maxDelayUs") settings.max_delay_us = whole_number(value, "maxDelayUs", 0, kMostDelayUs);
    else if (name == "log") read_log(settings, value);
    else
      throw Error(ErrorCode::kUnknownField,
                  fmt::format("body: unknown field '{}', known are maxBatchRows, maxDelayUs and log", name), name);
  }
  return settings;
}

ValueMap to_value(const ServingSettings& settings) {
  ValueMap value{{"maxBatchRows", settings.max_batch_rows}};
  if (settings.max_delay_us) value.emplace_back("maxDelayUs", *settings.max_delay_us);
  if (settings.log_fraction > 0)
    value.emplace_back("log", ValueMap{{"fraction", settings.log_fraction}, {"maxBytes", settings.log_max_bytes}});
  return value;
}

std::int64_t count_rows(std::string_view content_type, std::string_view body) {
  if (content_type.starts_with("application/x-npy")) return std::max<std::int64_t>(1, rows_in_npy(body));
  if (body.size() > kLongBody) return kManyRows;
  const bool is_csv = content_type.starts_with("text/csv");
  const bool has_header = content_type.find("header=absent") == std::string_view::npos;
  return std::max<std::int64_t>(1, is_csv ? rows_in_csv(body, has_header) : rows_in_json(body));
}

}   // namespace kedge::server
