// The smallest pieces of JSON text: quoted strings, numbers, and values.
#pragma once

#include <string>
#include <string_view>

#include "schemas/value.h"

namespace kedge::schema {

bool is_utf8(std::string_view text);

// `text` if it is valid UTF-8, otherwise a copy with every bad sequence replaced by U+FFFD. What we encode is
// always valid.
std::string valid_utf8(std::string_view text);

// Each appends to `out`. Doubles are the shortest text that reads back to the same bits, always with a
// fraction or an exponent so that they stay doubles; NaN and infinities, for which JSON has no number, become
// the strings "NaN", "Infinity", "-Infinity".
void append_json_string(std::string& out, std::string_view text);
void append_json_number(std::string& out, std::int64_t number);
void append_json_number(std::string& out, double number);
void append_json_value(std::string& out, const Value& value);

}  // namespace kedge::schema
