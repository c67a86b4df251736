// Reading and making JSON values in few words: what providers answer is navigated, not declared.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/value.h"

namespace kedge::provisioning::json {

using schema::Value;
using schema::ValueList;
using schema::ValueMap;

// The member at a dotted path such as "data.0.id" (a number steps into a list), or null.
const Value& at(const Value& value, std::string_view path);
// As text: a string as it is, a number or boolean as JSON writes it, `otherwise` for null and for what has parts.
std::string text(const Value& value, std::string_view path, std::string otherwise = {});
double number(const Value& value, std::string_view path, double otherwise = 0);  // also from text that is a number
bool truth(const Value& value, std::string_view path, bool otherwise = false);
const ValueList& list(const Value& value, std::string_view path = {});  // empty when it is none
const ValueMap& map(const Value& value, std::string_view path = {});

// Text that is not JSON becomes a string value: some providers answer with a bare id.
Value parse(std::string_view text);
std::string write(const Value& value);

}  // namespace kedge::provisioning::json
