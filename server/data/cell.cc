// One cell of text: where it ends and what it says, with quotes and escapes taken off.
#include "server/data/cell.h"

#include <fmt/core.h>

#include <algorithm>

namespace kedge::server {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// \uXXXX with p at the first digit; null when it is none.
const char* append_code_point(std::string& out, const char* p, const char* end) {
  unsigned code = 0;
  if (end - p < 4) return nullptr;
  for (int i = 0; i < 4; ++i) {
    const char c = lower(p[i]);
    if (c >= '0' && c <= '9') code = code * 16 + static_cast<unsigned>(c - '0');
    else if (c >= 'a' && c <= 'f') code = code * 16 + static_cast<unsigned>(c - 'a' + 10);
    else return nullptr;
  }
  append_utf8(out, code);
  return p + 4;
}

// The escapes that Weka writes; any other character means itself.
const char* append_escaped(std::string& out, const char* p, const char* end) {
  if (*p == 'u')
    if (const char* next = append_code_point(out, p + 1, end)) return next;
  switch (*p) {
    case 'n': out += '\n'; break;
    case 't': out += '\t'; break;
    case 'r': out += '\r'; break;
    default: out += *p;
  }
  return p + 1;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<Cell> read_arff_cell(const char* p, const char* end, char closer, std::string& scratch) {
  p = skip_blanks(p, end);
  if (p == end || (*p != '\'' && *p != '"')) {
    const char* stop = p;
    while (stop != end && *stop != ',' && *stop != closer) ++stop;
    return Cell{trimmed(between(p, stop)), false, stop};
  }
  const char quote = *p++;
  const char* const first = p;
  while (p != end && *p != quote && *p != '\\') ++p;
  std::string_view text = between(first, p);
  if (p != end && *p == '\\') {
    scratch.assign(first, p);
    while (p != end && *p != quote) {
      if (*p == '\\' && p + 1 != end) p = append_escaped(scratch, p + 1, end);
      else scratch += *p++;
    }
    text = scratch;
  }
  if (p == end) return std::nullopt;
  p = skip_blanks(p + 1, end);
  if (p != end && *p != ',' && *p != closer) return std::nullopt;
  return Cell{text, true, p};
}

std::optional<Cell> read_csv_cell(const char* p, const char* end, std::string& scratch) {
  const char* const start = skip_blanks(p, end);
  if (start == end || *start != '"') {
    const char* stop = start;
    while (stop != end && *stop != ',') ++stop;
    const auto text = trimmed(between(start, stop));
    if (text.find('"') != std::string_view::npos) return std::nullopt;   // it would confuse the search for record ends
    return Cell{text, false, stop};
  }
  p = start + 1;
  const char* const first = p;
  while (p != end && *p != '"') ++p;
  std::string_view text = between(first, p);
  if (p != end && p + 1 != end && p[1] == '"') {
    scratch.assign(first, p);
    for (; p != end && (*p != '"' || (p + 1 != end && p[1] == '"')); ++p) {
      scratch += *p;
      p += *p == '"';
    }
    text = scratch;
  }
  if (p == end) return std::nullopt;
  p = skip_blanks(p + 1, end);
  if (p != end && *p != ',') return std::nullopt;
  return Cell{text, true, p};
}

std::string name_problem(const std::string& name, std::size_t number) {
  constexpr std::size_t kShown = 40;
  if (name.size() <= kLongestColumnName) return {};
  std::string shown = name.substr(0, kShown);
  while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0x80) != 0) shown.pop_back();   // no half of a character
  return fmt::format("column {} ('{}...') has a name of {} bytes, must have at most {}", number, shown, name.size(), kLongestColumnName);
}

std::string cell_message(const char* kind, std::size_t index, const std::string& name, const std::string& what) {
  return fmt::format("{} {} ('{}'): {}", kind, index + 1, name, what);
}

}  // namespace kedge::server
