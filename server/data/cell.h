// One cell of text: where it ends and what it says, with quotes and escapes taken off.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kedge::server {

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

inline const char* skip_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}

std::string_view trimmed(std::string_view text);
bool same_ignoring_case(std::string_view a, std::string_view b);

struct Cell {
  std::string_view text;   // points into the source, or into the scratch string of the call
  bool quoted = false;
  const char* next;        // behind the cell and the blanks after it: at a separator or at the end
};

// An ARFF cell in [p, end): in ' or " with backslash escapes, or bare up to a comma or `closer`. Nothing when a quote is not
// closed or something else than a separator follows one.
std::optional<Cell> read_arff_cell(const char* p, const char* end, char closer, std::string& scratch);

// A CSV field (RFC 4180): in " with quotes doubled, or bare up to a comma. `end` is the end of the record.
std::optional<Cell> read_csv_cell(const char* p, const char* end, std::string& scratch);

// Of every format: longer names are a mistake, most often a table without its line of names, and every error and result would carry them.
inline constexpr std::size_t kLongestColumnName = 1000;   // bytes
// What is wrong with the length of a column's name; empty: nothing. `number` counts from 1.
std::string name_problem(const std::string& name, std::size_t number);

// "attribute 3 ('x'): " in front of what is wrong with a cell. index counts from 0.
std::string cell_message(const char* kind, std::size_t index, const std::string& name, const std::string& what);

}  // namespace kedge::server
