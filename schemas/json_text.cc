// Writes strings, numbers and values as JSON text.
#include "schemas/json_text.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>

namespace kedge::schema {
namespace {

constexpr double kShortWhole = 1e5;   // whole numbers below it are written without an exponent
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Length of the valid UTF-8 sequence at the front of `text`, or 0.
std::size_t sequence_length(std::string_view text) {
  for (std::size_t n = 1; n <= 4 && n <= text.size(); ++n)
    if (simdjson::validate_utf8(text.data(), n)) return n;
  return 0;
}

void append_escape(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[(c >> 4) & 15];
      out += kHex[c & 15];
  }
}

bool needs_escape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

struct ValueWriter {
  std::string& out;

  void operator()(std::monostate) { out += "null"; }
  void operator()(bool v) { out += v ? "true" : "false"; }
  void operator()(std::int64_t v) { append_json_number(out, v); }
  void operator()(double v) { append_json_number(out, v); }
  void operator()(const std::string& v) { append_json_string(out, v); }
  void operator()(const std::vector<double>& v) {
    write_list(v, [&](double item) { append_json_number(out, item); });
  }
  void operator()(const ValueList& v) {
    write_list(v, [&](const Value& item) { append_json_value(out, item); });
  }
  void operator()(const ValueMap& v) {
    char separator = '{';
    for (const auto& [name, item] : v) {
      out += separator;
      append_json_string(out, name);
      out += ':';
      append_json_value(out, item);
      separator = ',';
    }
    out += v.empty() ? "{}" : "}";
  }

  template <class List, class WriteItem>
  void write_list(const List& list, WriteItem write_item) {
    char separator = '[';
    for (const auto& item : list) {
      out += separator;
      write_item(item);
      separator = ',';
    }
    out += list.empty() ? "[]" : "]";
  }
};

}  // namespace

bool is_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

std::string valid_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    out += length ? text.substr(0, length) : kReplacement;
    text.remove_prefix(length ? length : 1);
  }
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  if (!is_utf8(text)) return append_json_string(out, valid_utf8(text));
  out += '"';
  std::size_t plain = 0;  // start of the run that needs no escape
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!needs_escape(text[i])) continue;
    out += text.substr(plain, i - plain);
    append_escape(out, text[i]);
    plain = i + 1;
  }
  out += text.substr(plain);
  out += '"';
}

void append_json_number(std::string& out, std::int64_t number) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}

void append_json_number(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "\"NaN\"";
  } else if (std::isinf(number)) {
    out += number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else if (std::abs(number) < kShortWhole && number == std::trunc(number) && !(number == 0 && std::signbit(number))) {
    append_json_number(out, static_cast<std::int64_t>(number));   // the same text, in a third of the time
    out += ".0";
  } else {
    char buffer[32];
    const std::string_view text(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr - buffer);
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
}

void append_json_value(std::string& out, const Value& value) {
  std::visit(ValueWriter{out}, value.data);
}

std::string to_string(const Value& value) {
  std::string out;
  append_json_value(out, value);
  return out;
}

}  // namespace kedge::schema
