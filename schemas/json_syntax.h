// Finds the place of a syntax error, once simdjson, which is fast but does not say where, has refused a text.
#pragma once

#include <string_view>

namespace kedge::schema {

// Throws Error{kMalformed} that names line, column and what was expected there; `otherwise` is the message if
// no fault is found here.
[[noreturn]] void throw_syntax_error(std::string_view text, std::string_view otherwise);

}  // namespace kedge::schema
