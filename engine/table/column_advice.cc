// Looks at the categories of a column: numbers with a few texts among them, dates, or texts.
#include "engine/table/column_advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/dates.h"
#include "engine/core/number_text.h"
#include "engine/table/typed_columns.h"

namespace kedge::engine {
namespace {

constexpr std::size_t kFewTexts = 5;        // that a message lists
constexpr std::size_t kLongestListed = 200;   // bytes of one: a longer one is no word for a missing value

std::vector<std::string> texts_of(const ColumnInfo& column) {
  std::vector<std::string> texts;
  for (const std::string& category : column.categories)
    if (!number_of(category)) texts.push_back(category);
  return texts;
}

std::string date_word(DateOrder order) { return to_text({order, DatePart::kDays}); }

std::string cure(const ColumnInfo& column, const std::vector<std::string>& texts) {
  const bool are_words = std::ranges::all_of(texts, [](const std::string& text) { return text.size() <= kLongestListed; });
  if (are_words && texts.size() <= kFewTexts && texts.size() < column.categories.size())
    return fmt::format("if they are missing values, write \"select\": {{{}}}", na_words(texts));
  return fmt::format("a step that takes categories (OneHotEncoder, OrdinalEncoder) reads its {} texts; {} leaves it out", column.categories.size(),
                     types_words(column.name, "drop"));
}

}  // namespace

std::string nominal_advice(const ColumnInfo& column, const DatasetFile& data) {
  if (const auto order = order_of_dates(column.categories))
    return fmt::format("its texts are dates such as {}, which become numbers by {}", shown_text(column.categories.front()),
                       types_words(column.name, date_word(*order)));
  const auto cell = find_cell(data, column, [](const std::string& text) { return !number_of(text); });
  const std::string first = cell ? fmt::format("{} in row {} (counted from 0) is no number, one of {} such cells; ", shown_text(cell->text), cell->row,
                                               cell->cells)
                                 : std::string();
  return first + cure(column, texts_of(column));
}

bool is_nominal_by_accident(const ColumnInfo& column) {
  const std::size_t n = column.categories.size(), n_texts = texts_of(column).size();
  return (n_texts <= kFewTexts && n >= 2 * n_texts + 4) || (n >= 4 && order_of_dates(column.categories));
}

const ColumnInfo* file_column(const std::string& name, const DatasetMeta& meta) {
  const auto found = std::ranges::find(meta.columns, name, &ColumnInfo::name);
  return found == meta.columns.end() ? nullptr : &*found;
}

}  // namespace kedge::engine
