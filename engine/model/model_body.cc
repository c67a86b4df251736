// The rows of a request's body: JSON, CSV or NPY.
#include <algorithm>

#include "engine/core/missing_text.h"
#include "engine/core/npy.h"
#include "engine/core/require.h"
#include "engine/model/model_rows.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Value;

[[noreturn]] void refuse_body(const std::string& problem) { throw Error(ErrorCode::kMalformed, "body: " + problem); }

// --- CSV (RFC 4180) ---

class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  // The cells of the next line that is not empty; false at the end.
  bool next(std::vector<std::string>& cells) {
    cells.clear();
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (at_ >= text_.size()) return false;
    while (true) {
      cells.push_back(cell());
      if (at_ >= text_.size() || text_[at_] != ',') break;
      ++at_;
    }
    return true;
  }

 private:
  std::string cell() {
    if (at_ < text_.size() && text_[at_] == '"') return quoted_cell();
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string found(text_.substr(at_, end - at_));
    at_ = end;
    return found;
  }
  std::string quoted_cell() {
    std::string found;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != '"') {
        found += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        found += text_[++at_];
      } else {
        ++at_;
        const bool ends = at_ == text_.size() || text_[at_] == ',' || text_[at_] == '\n' || text_[at_] == '\r';
        if (!ends) refuse_body("a quoted cell continues after its closing quote");
        return found;
      }
    }
    refuse_body("a quoted cell has no end");
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

ModelRows rows_of_csv(const schema::ModelInfo& model, std::string_view body, bool has_header) {
  if (body.starts_with("\xEF\xBB\xBF")) body.remove_prefix(3);
  CsvReader reader(body);
  std::vector<std::string> names, cells;
  if (has_header && !reader.next(names)) refuse_body("it is empty, must have a header line and rows");
  for (std::string& name : names) name = without_blanks(name);   // as in a table
  if (!reader.next(cells)) refuse_body("it has no rows");
  const std::size_t width = has_header ? names.size() : cells.size();
  ModelRowsBuilder builder(model, names, width);
  for (std::int64_t i = 0;; ++i) {
    if (cells.size() != width) refuse_body(fmt::format("row {} (counted from 0) has {} cells, must have {}", i, cells.size(), width));
    builder.add_row();
    for (std::size_t c = 0; c < width; ++c)
      if (builder.reads(c)) builder.set(c, std::string_view(cells[c]));
    if (!reader.next(cells)) return builder.finish();
  }
}

// --- JSON ---

constexpr const char* kNoRows =
    "it has no rows: {\"columns\": [names], \"rows\": [[values]]}, or {\"rows\": [{name: value}]}";

void set_cell(ModelRowsBuilder& builder, std::size_t column, const Value& cell) {
  if (!builder.reads(column) || cell.is_null()) return;
  if (const auto* text = std::get_if<std::string>(&cell.data)) return builder.set(column, std::string_view(*text));
  if (const auto* number = std::get_if<double>(&cell.data)) return builder.set(column, *number);
  if (const auto* whole = std::get_if<std::int64_t>(&cell.data))
    return builder.set(column, static_cast<double>(*whole));
  if (const auto* flag = std::get_if<bool>(&cell.data)) return builder.set(column, *flag ? 1.0 : 0.0);
  refuse_body("a cell is a list or an object, must be a number, a text or null");
}

const schema::ValueList& list_of(const Value& value, const char* what) {
  const auto* list = std::get_if<schema::ValueList>(&value.data);
  if (!list) refuse_body(fmt::format("{} is no list", what));
  return *list;
}

ModelRows rows_of_lists(const schema::ModelInfo& model, const std::vector<std::string>& names,
                        const schema::ValueList& rows) {
  const std::size_t width = names.empty() ? list_of(rows[0], "a row").size() : names.size();
  ModelRowsBuilder builder(model, names, width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const schema::ValueList& row = list_of(rows[i], "a row");
    if (row.size() != width)
      refuse_body(fmt::format("row {} (counted from 0) has {} values, the others have {}", i, row.size(), width));
    builder.add_row();
    for (std::size_t c = 0; c < width; ++c) set_cell(builder, c, row[c]);
  }
  return builder.finish();
}

// Each row an object: columns may come in any order; one that a row lacks is an error, as a null is not.
ModelRows rows_of_objects(const schema::ModelInfo& model, const schema::ValueList& rows) {
  std::vector<std::string> names;
  for (const auto& [name, value] : std::get<schema::ValueMap>(rows[0].data)) names.push_back(name);
  ModelRowsBuilder builder(model, names, names.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto* row = std::get_if<schema::ValueMap>(&rows[i].data);
    if (!row) refuse_body(fmt::format("row {} (counted from 0) is no object, the first is one", i));
    builder.add_row();
    for (std::size_t c = 0; c < names.size(); ++c) {
      const auto found =
          std::find_if(row->begin(), row->end(), [&](const auto& cell) { return cell.first == names[c]; });
      if (found == row->end() && builder.reads(c))
        refuse_body(fmt::format("row {} (counted from 0) has no '{}'", i, names[c]));
      if (found != row->end()) set_cell(builder, c, found->second);
    }
  }
  return builder.finish();
}

ModelRows rows_of_list(const schema::ModelInfo& model, const std::vector<std::string>& names,
                       const schema::ValueList& rows) {
  if (rows.empty()) refuse_body(kNoRows);
  return std::holds_alternative<schema::ValueMap>(rows[0].data) ? rows_of_objects(model, rows)
                                                                : rows_of_lists(model, names, rows);
}

std::vector<std::string> names_of(const Value& columns) {
  std::vector<std::string> names;
  for (const Value& name : list_of(columns, "columns")) {
    const auto* text = std::get_if<std::string>(&name.data);
    if (!text) refuse_body("columns has something that is no text");
    names.push_back(*text);
  }
  return names;
}

// What an object of rows says.
struct JsonRows {
  const Value *columns = nullptr, *rows = nullptr, *background = nullptr;
};
JsonRows parts_of(const schema::ValueMap& map, bool has_background) {
  JsonRows parts;
  for (const auto& [key, item] : map) {
    if (key == "rows") parts.rows = &item;
    else if (key == "columns") parts.columns = &item;
    else if (key == "background" && has_background) parts.background = &item;
    else
      throw Error(ErrorCode::kUnknownField,
                  fmt::format("body: unknown field '{}', known are {}columns and rows", key,
                              has_background ? "background, " : ""),
                  key);
  }
  if (!parts.rows) refuse_body(kNoRows);
  return parts;
}

// A list of rows, the text of a CSV file, or an object of columns and rows.
ModelRows rows_of_value(const schema::ModelInfo& model, const std::vector<std::string>& names, const Value& value,
                        const char* what) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return rows_of_csv(model, *text, true);
  const auto* map = std::get_if<schema::ValueMap>(&value.data);
  if (!map) return rows_of_list(model, names, list_of(value, what));
  const JsonRows parts = parts_of(*map, false);
  return rows_of_list(model, parts.columns ? names_of(*parts.columns) : names, list_of(*parts.rows, what));
}

ModelRows rows_of_json(const schema::ModelInfo& model, std::string_view body) {
  const Value value = schema::value_from_json(body);
  const auto* map = std::get_if<schema::ValueMap>(&value.data);
  if (!map) return rows_of_list(model, {}, list_of(value, "the body"));
  const JsonRows parts = parts_of(*map, true);
  const std::vector<std::string> names = parts.columns ? names_of(*parts.columns) : std::vector<std::string>();
  ModelRows found = rows_of_value(model, names, *parts.rows, "rows");
  if (!parts.background) return found;
  const auto require_few = [](std::int64_t n_rows) {
    if (n_rows < 1 || n_rows > kMostBackground)
      throw Error(ErrorCode::kInvalidValue,
                  fmt::format("background has {} rows, must have 1 to {}", n_rows, kMostBackground), "background");
  };
  if (const auto* list = std::get_if<schema::ValueList>(&parts.background->data)) require_few(std::ssize(*list));
  of_background([&] {
    found.background = std::make_shared<const ModelRows>(rows_of_value(model, names, *parts.background, "background"));
  });
  require_few(found.background->n_rows);
  return found;
}

// --- NPY ---

ModelRows rows_of_npy(const schema::ModelInfo& model, std::string_view body) {
  const NpyArray array = read_npy(body);
  ModelRowsBuilder builder(model, {}, static_cast<std::size_t>(array.cols));
  for (std::int64_t i = 0; i < array.rows; ++i) {
    builder.add_row();
    for (std::int64_t j = 0; j < array.cols; ++j) builder.set(static_cast<std::size_t>(j), array.values[static_cast<std::size_t>(i * array.cols + j)]);
  }
  return builder.finish();
}

}  // namespace

ModelRows rows_of_body(const schema::ModelInfo& model, std::string_view type, std::string_view body) {
  const std::string_view plain = type.substr(0, type.find_first_of("; "));
  if (plain == "application/json") return rows_of_json(model, body);
  if (plain == "text/csv") return rows_of_csv(model, body, type.find("header=absent") == std::string_view::npos);
  if (plain == "application/x-npy") return rows_of_npy(model, body);
  throw Error(ErrorCode::kUnsupportedMediaType,
              fmt::format("Content-Type is '{}', must be application/json, text/csv or application/x-npy", type));
}

}  // namespace kedge::engine
