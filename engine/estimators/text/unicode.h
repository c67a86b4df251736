// UTF-8 text as Python's str and re see it: word characters, white space, lower case, accents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kedge::engine::text {

using CodePoint = std::int32_t;

// The character at p, which moves behind it. A byte that is no UTF-8 counts as U+FFFD, which is no word character.
CodePoint next_code_point(const char*& p, const char* end);
void append(std::string& out, CodePoint c);
bool is_utf8(std::string_view text);
bool is_ascii(std::string_view text);

bool is_word(CodePoint c);    // \w: letters, numbers of any kind, the underscore
bool is_space(CodePoint c);   // \s

// str.lower(): full mappings, a sigma at the end of a word included. `out` is replaced.
void lower(std::string_view text, std::string& out);
// scikit-learn's strip_accents_unicode: compatibility decomposition without combining characters.
void strip_accents(std::string_view text, std::string& out);
// strip_accents_ascii: the same, of which only ASCII is kept.
void strip_to_ascii(std::string_view text, std::string& out);

}   // namespace kedge::engine::text
