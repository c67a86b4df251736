// The declarations at the top of an ARFF file.
#include "server/data/arff_header.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "server/data/cell.h"
#include "server/data/text_chunks.h"

namespace kedge::server {
namespace {

using engine::ColumnInfo;

// A word, quoted or up to a blank (or brace), from the front of `rest`.
std::string take_name(std::string_view& rest) {
  std::string name;
  rest = trimmed(rest);
  if (rest.empty()) return name;
  const char* p = rest.data();
  const char* const end = p + rest.size();
  if (*p == '\'' || *p == '"') {
    const char quote = *p++;
    for (; p != end && *p != quote; ++p) {
      if (*p == '\\' && p + 1 != end) ++p;
      name += *p;
    }
    if (p == end) throw CellError{rest.data(), "the quote of a name is not closed"};
    ++p;
  } else {
    while (p != end && !is_blank(*p) && *p != '{') name += *p++;
  }
  rest = trimmed({p, static_cast<std::size_t>(end - p)});
  return name;
}

std::vector<std::string> read_categories(std::string_view rest, const std::string& name) {
  std::vector<std::string> categories;
  std::unordered_set<std::string> seen;
  std::string scratch;
  const char* p = rest.data() + 1;
  const char* const end = rest.data() + rest.size();
  for (bool more = skip_blanks(p, end) != end && *skip_blanks(p, end) != '}'; more;) {
    const auto cell = read_arff_cell(p, end, '}', scratch);
    if (!cell) throw CellError{p, fmt::format("attribute '{}': a quoted category does not end", name)};
    if (cell->next == end) throw CellError{p, fmt::format("attribute '{}': its categories lack a closing brace", name)};
    if (!seen.emplace(cell->text).second)
      throw CellError{p, fmt::format("attribute '{}': category '{}' is declared twice", name, cell->text)};
    categories.emplace_back(cell->text);
    more = *cell->next == ',';
    p = cell->next + 1;
  }
  return categories;
}

ColumnInfo read_attribute(std::string_view rest, std::size_t number) {
  ColumnInfo column;
  const char* const start = rest.data();
  column.name = take_name(rest);
  if (column.name.empty()) throw CellError{start, "an attribute without a name"};
  if (const std::string problem = name_problem(column.name, number); !problem.empty()) throw CellError{start, problem};
  if (!rest.empty() && rest.front() == '{') {
    column.type = ColumnInfo::Type::kNominal;
    column.categories = read_categories(rest, column.name);
    return column;
  }
  const std::string type = take_name(rest);
  const auto is = [&](std::string_view word) { return same_ignoring_case(type, word); };
  if (is("numeric") || is("real") || is("integer")) column.type = ColumnInfo::Type::kNumeric;
  else if (is("string") || is("date")) column.type = ColumnInfo::Type::kString;
  else
    throw CellError{start, fmt::format("attribute '{}': type '{}' is not known (numeric, real, integer, string, date "
                                       "or a list of categories in braces)", column.name, type)};
  return column;
}

void number_value_columns(ArffHeader& header) {
  for (ColumnInfo& column : header.columns)
    if (column.type != ColumnInfo::Type::kString) column.values_column = header.n_values_columns++;
}

}  // namespace

bool ArffHeaderReader::read_line(std::string_view line) {
  line = trimmed(line);
  if (line.empty() || line.front() == '%') return false;
  std::string_view rest = line;
  const std::string keyword = take_name(rest);
  if (same_ignoring_case(keyword, "@data")) {
    number_value_columns(header_);
    return true;
  }
  if (same_ignoring_case(keyword, "@relation")) {
    header_.relation = take_name(rest);
  } else if (same_ignoring_case(keyword, "@attribute")) {
    header_.columns.push_back(read_attribute(rest, header_.columns.size() + 1));
    if (!names_.insert(header_.columns.back().name).second)
      throw CellError{line.data(), fmt::format("attribute '{}' is declared twice", header_.columns.back().name)};
  } else {
    throw CellError{line.data(), fmt::format("'{}' is not an ARFF declaration", line.substr(0, 40))};
  }
  return false;
}

}  // namespace kedge::server
