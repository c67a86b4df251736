// Types columns by their categories: a nominal column keeps its texts once in the file, so that no cell is read for most of it.
#include "engine/table/typed_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/core/dates.h"
#include "engine/core/missing_text.h"
#include "engine/core/number_text.h"
#include "engine/core/require.h"
#include "engine/table/row_condition.h"
#include "engine/table/selection.h"
#include "schemas/error.h"
#include "schemas/json_text.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostCategories = std::size_t{1} << 24;   // codes beyond are not exact in float32
constexpr std::size_t kUnsorted = std::size_t{1} << 20;         // numbers that are kept although some may be equal

// One column on its way to its type. Borrows the data set and the job's choice.
class ColumnTyper {
 public:
  ColumnTyper(const schema::Select& select, const DatasetFile& data) : select_(select), data_(data) {
    texts_.insert(select.naValues.begin(), select.naValues.end());
    for (const std::string& text : select.naValues)
      if (const auto number = number_of(text); number && !std::isnan(*number)) numbers_.push_back(*number);
    std::ranges::sort(numbers_);
  }

  // What the column becomes; empty where it is left as it is.
  std::vector<ColumnInfo> typed(const ColumnInfo& column, const std::string& type) const {
    if (!type.empty() && column.type == ColumnInfo::Type::kString) refuse_text(column, type);
    if (const auto date = date_type(type)) return dates(column, *date);
    if (column.type == ColumnInfo::Type::kNominal) return typed_nominal(column, type);
    if (column.type != ColumnInfo::Type::kNumeric) return {};
    if (type == "category") return {as_categories(column)};
    if (numbers_.empty()) return {};
    return {with_map(column, ColumnInfo::Type::kNumeric, {.missing = numbers_}, type)};
  }

 private:
  bool is_missing(const ColumnInfo& column, const std::string& text) const {
    if (texts_.contains(text) || texts_.contains(std::string(without_blanks(text)))) return true;
    const bool is_answer = is_target(select_, data_.meta(), column.name) || column.name == select_.groups.value_or("");
    return !is_answer && select_.keepDefaultNa && data_.meta().types_are_guessed && is_missing_text(text);
  }

  static ColumnInfo with_map(const ColumnInfo& column, ColumnInfo::Type kind, CellMap map, const std::string& type) {
    ColumnInfo typed = column;
    typed.type = kind, typed.type_name = type;
    if (kind == ColumnInfo::Type::kNumeric) typed.categories.clear();
    typed.cells.map = std::make_shared<const CellMap>(std::move(map));
    return typed;
  }

  std::vector<ColumnInfo> typed_nominal(const ColumnInfo& column, const std::string& type) const {
    std::vector<char> missing;
    for (const std::string& text : column.categories) missing.push_back(is_missing(column, text));
    const bool has_missing = std::ranges::find(missing, char{1}) != missing.end();
    if (type == "number") return {as_numbers(column, missing, type)};
    if (!has_missing) return {};
    if (type.empty() && are_numbers(column, missing)) return {as_numbers(column, missing, type)};
    ColumnInfo typed = column;
    typed.categories.clear();
    CellMap map;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      map.by_code.push_back(missing[i] ? kMissing : static_cast<double>(typed.categories.size()));
      if (!missing[i]) typed.categories.push_back(column.categories[i]);
    }
    typed.type_name = type;
    typed.cells.map = std::make_shared<const CellMap>(std::move(map));
    return {std::move(typed)};
  }

  bool are_numbers(const ColumnInfo& column, const std::vector<char>& missing) const {
    for (std::size_t i = 0; i < missing.size(); ++i)
      if (!missing[i] && !number_of(column.categories[i])) return false;
    return true;
  }

  ColumnInfo as_numbers(const ColumnInfo& column, const std::vector<char>& missing, const std::string& type) const {
    CellMap map;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      const auto number = missing[i] ? std::optional(kMissing) : number_of(column.categories[i]);
      if (!number) refuse_cell(column, "number", [this, &column](const std::string& text) {
        return !is_missing(column, text) && !number_of(text);
      });
      const bool is_na = std::ranges::binary_search(numbers_, *number);
      map.by_code.push_back(is_na ? kMissing : *number);
    }
    return with_map(column, ColumnInfo::Type::kNumeric, std::move(map), type);
  }

  ColumnInfo as_categories(const ColumnInfo& column) const {
    const std::int64_t n_rows = std::clamp<std::int64_t>(select_.rows.value_or(data_.meta().n_rows), 0, data_.meta().n_rows);
    const StoredColumn stored(data_, column, n_rows);
    std::vector<double> values;
    const auto keep_distinct = [&] {
      std::ranges::sort(values);
      values.erase(std::ranges::unique(values).begin(), values.end());
    };
    std::size_t room = kUnsorted;
    for (std::int64_t i = 0; i < n_rows; ++i) {
      if (const double v = stored.at(i); !std::isnan(v) && !std::ranges::binary_search(numbers_, v)) values.push_back(v + 0.0);   // -0 is 0
      if (i % kRowsBetweenStops == 0) check_job_stop();
      if (values.size() < room) continue;
      keep_distinct();
      if (values.size() > kMostCategories) break;
      room = 2 * values.size() + kUnsorted;
    }
    keep_distinct();
    require(values.size() <= kMostCategories, ErrorCode::kBadData, "column '{}' holds {} different numbers, as categories at most {}",
            column.name, values.size(), kMostCategories);
    ColumnInfo typed = column;
    for (const double value : values) typed.categories.push_back(category_name(value));
    typed.type = ColumnInfo::Type::kNominal, typed.type_name = "category";
    typed.cells.map = std::make_shared<const CellMap>(CellMap{.codes = std::move(values)});
    return typed;
  }

  std::vector<ColumnInfo> dates(const ColumnInfo& column, const DateType& type) const {
    if (column.type != ColumnInfo::Type::kNominal)
      throw Error(ErrorCode::kBadData, fmt::format("{}: column '{}' holds numbers, a date is text such as 2024-05-31", data_.meta().name,
                                                   column.name), path_of(column));
    std::vector<double> days;
    for (const std::string& text : column.categories) {
      const auto day = is_missing(column, text) || is_missing_text(text) ? std::optional(kMissing) : days_of(text, type.order);
      if (!day) refuse_cell(column, "date", [&](const std::string& other) {
        return !is_missing(column, other) && !is_missing_text(other) && !days_of(other, type.order);
      });
      days.push_back(*day);
    }
    std::vector<ColumnInfo> made;
    for (const DateType& single : single_parts(type)) {
      CellMap map;
      for (const double day : days) map.by_code.push_back(part_of(day, single.part));
      ColumnInfo part = with_map(column, ColumnInfo::Type::kNumeric, std::move(map), to_text(single));
      if (single.part != DatePart::kDays) part.name = column.name + "_" + name_of(single.part), part.source = column.name;
      made.push_back(std::move(part));
    }
    return made;
  }

  static std::string path_of(const ColumnInfo& column) { return "select.types." + column.name; }

  // Names the first cell that cannot be read, and the next ones of another text, so that one more attempt can name them all.
  [[noreturn]] void refuse_cell(const ColumnInfo& column, const char* noun, const std::function<bool(const std::string&)>& is_bad) const {
    constexpr std::size_t kShown = 5;
    const auto cell = find_cell(data_, column, is_bad);
    std::vector<std::string> bad;
    for (const std::string& text : column.categories)
      if (is_bad(text) && bad.size() <= kShown) bad.push_back(text);
    const std::string place = cell ? fmt::format(" in row {} (counted from 0), one of {} such cells", cell->row, cell->cells) : "";
    const std::string cure = bad.size() <= kShown ? fmt::format("; if they mean a missing value, add {} to select", na_words(bad))
                                                  : std::string("; \"drop\" leaves the column out");
    throw Error(ErrorCode::kBadData, fmt::format("{}: column '{}': {} is no {}{}{}", data_.meta().name, column.name,
                                                 shown_text(cell ? cell->text : bad.front()), noun, place, cure), path_of(column));
  }

  [[noreturn]] void refuse_text(const ColumnInfo& column, const std::string& type) const {
    throw Error(ErrorCode::kBadData, fmt::format("{}: column '{}' is text whose cells are not kept (ARFF string or date), it cannot be "
                                                 "read as {}; send the table as CSV", data_.meta().name, column.name, type), path_of(column));
  }

  const schema::Select& select_;
  const DatasetFile& data_;
  std::unordered_set<std::string> texts_;
  std::vector<double> numbers_;
};

const std::string* type_of(const schema::Select& select, const std::string& name) {
  const auto found = std::ranges::find(select.types, name, &std::pair<std::string, std::string>::first);
  return found == select.types.end() ? nullptr : &found->second;
}

void require_known_columns(const schema::Select& select, const DatasetMeta& meta) {
  for (const auto& [name, type] : select.types)
    if (!meta.has_column(name)) find_column(meta, name, "select.types." + name);   // says that it is unknown
}

// A column that the job leaves out: one more that the source says to leave out. It must have no other use.
void drop(const schema::Select& select, const std::string& name, DatasetMeta& meta) {
  const bool is_named = std::ranges::find(select.columns, name) != select.columns.end();
  const bool is_its_target = is_target(select, meta, name);
  if (is_named || is_its_target || name == select.weights.value_or("") || name == select.groups.value_or(""))
    throw Error(ErrorCode::kInvalidValue,
                fmt::format("column '{}' is dropped, but {}", name,
                            is_named        ? "select.columns names it"
                            : is_its_target ? "it is the target"
                                            : "it has another use"),
                "select.types." + name);
  meta.ignored.push_back(name);
}

std::optional<RowCondition> condition_of(const std::string& target) {
  try {
    return parse_row_condition(target, "select.target");
  } catch (const Error&) {
    return std::nullopt;   // a column that is not there: find_column() says so
  }
}

// Adds the column that a target with a condition stands for. False: the target is a column, or none is named.
bool add_condition_target(const schema::Select& select, DatasetMeta& typed) {
  if (!select.target || typed.has_column(*select.target)) return false;
  const auto condition = condition_of(*select.target);
  if (!condition) return false;
  const ColumnInfo& source = find_column(typed, condition->column, "select.target");
  const bool takes_missing =
      condition->comparison == Comparison::kMissing || condition->comparison == Comparison::kPresent;
  CellMap map = source.cells ? *source.cells.map : CellMap{};
  map.condition = *select.target;
  map.verdict = [takes_missing, meets = condition_test(*condition, source, "select.target")](double value) {
    return std::isnan(value) && !takes_missing ? kMissing : static_cast<double>(meets(value));
  };
  ColumnInfo made = source;
  made.name = *select.target, made.type = ColumnInfo::Type::kNumeric, made.type_name.clear(), made.source.clear();
  made.categories.clear();
  made.cells.map = std::make_shared<const CellMap>(std::move(map));
  if (std::ranges::find(select.columns, source.name) == select.columns.end()) typed.ignored.push_back(source.name);
  typed.columns.push_back(std::move(made));
  return true;
}

void require_unique(const DatasetMeta& meta) {
  std::unordered_set<std::string_view> names;
  for (const ColumnInfo& column : meta.columns)
    if (!names.insert(column.name).second)
      throw Error(ErrorCode::kInvalidValue,
                  fmt::format("{} has a column '{}' and a part of a date with that name", meta.name, column.name),
                  "select.types");
}

}  // namespace

bool is_column_type(const std::string& type) {
  return type == "number" || type == "category" || type == "drop" || date_type(type).has_value();
}

std::optional<DatasetMeta> typed_meta(const schema::Select& select, const DatasetFile& data) {
  const DatasetMeta& meta = data.meta();
  const bool may_retype =
      !select.naValues.empty() || !select.types.empty() || (select.keepDefaultNa && meta.types_are_guessed);
  if (!may_retype && (!select.target || meta.has_column(*select.target))) return std::nullopt;
  if (meta.is_sparse() && (!select.naValues.empty() || !select.types.empty()))
    throw Error(ErrorCode::kInvalidValue, fmt::format("{} is sparse: types and missing texts are of dense tables alone", meta.name),
                select.types.empty() ? "select.naValues" : "select.types");
  require_known_columns(select, meta);
  const ColumnTyper typer(select, data);
  DatasetMeta typed = meta;
  typed.columns.clear();
  bool has_changed = false;
  for (const ColumnInfo& column : meta.columns) {
    const std::string* type = type_of(select, column.name);
    const bool is_dropped = type && *type == "drop";
    if (is_dropped) drop(select, column.name, typed);
    std::vector<ColumnInfo> made = typer.typed(column, type && !is_dropped ? *type : "");
    has_changed = has_changed || is_dropped || !made.empty();
    if (made.empty()) made.push_back(column);
    std::ranges::move(made, std::back_inserter(typed.columns));
  }
  has_changed = add_condition_target(select, typed) || has_changed;
  if (!has_changed) return std::nullopt;
  require_unique(typed);
  return typed;
}

std::string column_of_target(const std::string& target) {
  const auto condition = condition_of(target);
  return condition ? condition->column : target;
}

std::string types_words(std::string_view column, std::string_view type) {
  std::string words = "\"select\": {\"types\": {";
  schema::append_json_string(words, column);
  words += ": ";
  schema::append_json_string(words, type);
  return words + "}}";
}

std::string na_words(const std::vector<std::string>& texts) {
  std::string words = "\"naValues\": [";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) words += ", ";
    schema::append_json_string(words, texts[i]);
  }
  return words + "]";
}

std::string category_name(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value + 0.0) : fmt::format("{}", value);
}

std::string shown_text(std::string_view text, std::size_t most) {
  if (text.size() <= most) return fmt::format("'{}'", text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;   // not within a character
  return fmt::format("'{}...'", text.substr(0, most));
}

}  // namespace kedge::engine
