// Finds the categories of columns, and looks cells up among them.
#include "engine/estimators/preprocessing/categories.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>

#include "engine/backend/linked_tables.h"
#include "engine/core/state_archive.h"
#include "engine/core/stop.h"
#include "engine/estimators/checks.h"
#include "engine/estimators/preprocessing/column_stats.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using schema::Value;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool is_missing(const Value& value, bool is_nominal) {
  const auto* real = std::get_if<double>(&value.data);
  const auto* text = std::get_if<std::string>(&value.data);
  return value.is_null() || (real && std::isnan(*real)) || (!is_nominal && text && *text == "NaN");
}

std::optional<double> number_of(const Value& value) {
  if (const auto* real = std::get_if<double>(&value.data)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::string name_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  const auto number = number_of(value);
  if (number && *number == std::floor(*number) && std::abs(*number) < 1e15) return fmt::format("{:.0f}", *number);
  return text ? *text : schema::to_string(value);
}

template <class T>
ColumnCategories categories_of(const NumberCounts<T>& found, const Feature* feature) {
  ColumnCategories column{.is_nominal = feature && feature->is_nominal,
                          .names = {},
                          .numbers = {},
                          .has_missing = found.missing > 0,
                          .counts = {}};
  std::vector<std::pair<T, std::int64_t>> counts;
  for (std::size_t c = 0; c < found.numbers.size(); ++c) counts.emplace_back(found.numbers[c], found.counts[c]);
  if (column.is_nominal) {
    const auto name = [&](T code) -> const std::string& { return feature->categories[static_cast<std::size_t>(code)]; };
    std::sort(counts.begin(), counts.end(), [&](const auto& a, const auto& b) { return name(a.first) < name(b.first); });
    for (const auto& [code, count] : counts) column.names.push_back(name(code));
  } else {
    for (const auto& [number, count] : counts) column.numbers.push_back(static_cast<double>(number));
  }
  for (const auto& [cell, count] : counts) column.counts.push_back(count);
  if (column.has_missing) column.counts.push_back(found.missing);
  return column;
}

const Feature* feature_at(const std::vector<Feature>& features, std::size_t j) {
  return features.empty() ? nullptr : &features[j];
}

// One list of the user as the categories of a column.
template <class T>
ColumnCategories checked_list(std::string_view owner, const schema::ValueList& list, bool is_nominal, const std::string& label,
                              const Value& all) {
  ColumnCategories column{.is_nominal = is_nominal, .names = {}, .numbers = {}, .has_missing = false, .counts = {}};
  for (const Value& item : list) {
    if (column.has_missing) refuse_param(owner, "categories", all, "must have the missing value last, in column " + label);
    if (is_missing(item, is_nominal)) {
      column.has_missing = true;
    } else if (is_nominal) {
      column.names.push_back(name_of(item));
    } else if (const auto number = number_of(item)) {
      column.numbers.push_back(static_cast<double>(static_cast<T>(*number)));
    } else {
      refuse_param(owner, "categories", all, "must have numbers for the numeric column " + label);
    }
  }
  if (!std::is_sorted(column.numbers.begin(), column.numbers.end()))
    refuse_param(owner, "categories", all, "must be ascending in the numeric column " + label);
  std::vector<std::string> names = column.names;
  std::sort(names.begin(), names.end());
  const bool repeats = std::adjacent_find(names.begin(), names.end()) != names.end() ||
                       std::adjacent_find(column.numbers.begin(), column.numbers.end()) != column.numbers.end();
  if (repeats) refuse_param(owner, "categories", all, "must not repeat a category of column " + label);
  if (column.size() == 0) refuse_param(owner, "categories", all, "must have at least one category for column " + label);
  return column;
}

// The entries of one column's dictionary, ascending by cell.
template <class T>
std::vector<std::pair<T, T>> dictionary_of(const ColumnCategories& column, const ColumnAnswers<T>& answers,
                                           const Feature* feature) {
  std::vector<std::pair<T, T>> entries;
  if (!column.is_nominal) {
    for (std::size_t c = 0; c < column.numbers.size(); ++c)
      entries.emplace_back(static_cast<T>(column.numbers[c]), answers.answers[c]);
    return entries;
  }
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t c = 0; c < column.names.size(); ++c) places.emplace(column.names[c], c);
  for (std::size_t code = 0; code < feature->categories.size(); ++code) {
    const auto found = places.find(feature->categories[code]);
    if (found != places.end()) entries.emplace_back(static_cast<T>(code), answers.answers[found->second]);
  }
  return entries;
}

}  // namespace

void ColumnCategories::state(StateArchive& archive) {
  archive.field("is_nominal", is_nominal);
  archive.field("has_missing", has_missing);
  archive.field("names", names, is_nominal ? kAnySize : 0);
  archive.field("numbers", numbers, is_nominal ? 0 : kAnySize);
  archive.expect(std::is_sorted(numbers.begin(), numbers.end()), "numbers", "is not in order");
  archive.field("counts", counts, kAnySize);
  archive.expect(counts.empty() || static_cast<std::int64_t>(counts.size()) == size(), "counts", "is not one for each category");
}

std::optional<std::int64_t> ColumnCategories::find(const Value& category) const {
  if (is_missing(category, is_nominal)) return has_missing ? std::optional(n_known()) : std::nullopt;
  if (is_nominal) {
    const auto found = std::find(names.begin(), names.end(), name_of(category));
    return found == names.end() ? std::nullopt : std::optional<std::int64_t>(found - names.begin());
  }
  const auto number = number_of(category);
  const auto found = number ? std::find(numbers.begin(), numbers.end(), *number) : numbers.end();
  return found == numbers.end() ? std::nullopt : std::optional<std::int64_t>(found - numbers.begin());
}

Value ColumnCategories::value(std::int64_t place) const {
  if (place >= n_known()) return kNan;
  const auto at = static_cast<std::size_t>(place);
  return is_nominal ? Value(names[at]) : Value(numbers[at]);
}

Value ColumnCategories::values(const std::vector<std::int64_t>& places) const {
  schema::ValueList list;
  for (const std::int64_t place : places) list.push_back(value(place));
  return list;
}

Value ColumnCategories::all_values() const {
  std::vector<std::int64_t> places(static_cast<std::size_t>(size()));
  std::iota(places.begin(), places.end(), 0);
  return values(places);
}

std::vector<std::string> ColumnCategories::labels() const {
  std::vector<std::string> all = is_nominal ? names : std::vector<std::string>();
  const bool all_whole =
      std::all_of(numbers.begin(), numbers.end(), [](double v) { return v == std::floor(v) && std::abs(v) < 1e15; });
  for (const double number : numbers) all.push_back(all_whole ? fmt::format("{:.0f}", number) : schema::to_string(number));
  if (has_missing) all.emplace_back("nan");
  return all;
}

template <class T>
std::vector<ColumnCategories> found_categories(const Context& ctx, const Samples<T>& X) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(X.n_cols()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<NumberCounts<T>> found = column_counts(ctx, X, all);
  std::vector<ColumnCategories> columns;
  for (std::size_t j = 0; j < found.size(); ++j) {
    ctx.check_stop();
    columns.push_back(categories_of(found[j], feature_at(X.table->features, j)));
  }
  return columns;
}

template <class T>
std::vector<ColumnCategories> given_categories(std::string_view owner, const Value& categories, const Samples<T>& X,
                                               const std::vector<ColumnCategories>& found) {
  const auto& lists = std::get<schema::ValueList>(categories.data);
  require(static_cast<std::int64_t>(lists.size()) == X.n_cols(), ErrorCode::kBadData,
          "{}: categories has {} lists, but the data have {} columns", owner, lists.size(), X.n_cols());
  std::vector<ColumnCategories> columns;
  for (std::size_t j = 0; j < lists.size(); ++j) {
    const std::string label = X.table->column_label(static_cast<std::int64_t>(j));
    columns.push_back(checked_list<T>(owner, std::get<schema::ValueList>(lists[j].data), found[j].is_nominal, label, categories));
    for (std::int64_t c = 0; c < columns[j].size(); ++c) {
      check_job_stop();
      const auto place = found[j].find(columns[j].value(c));
      columns[j].counts.push_back(place ? found[j].counts[static_cast<std::size_t>(*place)] : 0);
    }
  }
  return columns;
}

template <class T>
void require_known_categories(std::string_view owner, const Samples<T>& X, const std::vector<ColumnCategories>& given,
                              const std::vector<ColumnCategories>& found) {
  for (std::size_t j = 0; j < found.size(); ++j) {
    for (std::int64_t c = 0; c < found[j].size(); ++c) {
      check_job_stop();
      require(given[j].find(found[j].value(c)).has_value(), ErrorCode::kBadData,
              "{}: column {} has the category {}, which the given categories lack", owner,
              X.table->column_label(static_cast<std::int64_t>(j)), schema::to_string(found[j].value(c)));
    }
  }
}

template <class T>
Matrix<T> translated_cells(const Context& ctx, std::string_view owner, const Samples<T>& X,
                           const std::vector<ColumnCategories>& categories, const std::vector<ColumnAnswers<T>>& answers) {
  std::vector<std::int64_t> offsets{0};
  std::vector<T> keys, values, missing, unknown;
  for (std::size_t j = 0; j < categories.size(); ++j) {
    const Feature* feature = feature_at(X.table->features, j);
    require((feature && feature->is_nominal) == categories[j].is_nominal, ErrorCode::kBadData,
            "{}: column {} was {} when it was fitted, now it is not", owner, X.table->column_label(static_cast<std::int64_t>(j)),
            categories[j].is_nominal ? "nominal" : "numeric");
    for (const auto& [key, value] : dictionary_of(categories[j], answers[j], feature))
      keys.push_back(key), values.push_back(value);
    offsets.push_back(static_cast<std::int64_t>(keys.size()));
    missing.push_back(answers[j].missing), unknown.push_back(answers[j].unknown);
  }
  const auto upload = [&](const auto& host) {
    using Item = typename std::decay_t<decltype(host)>::value_type;
    return Array<Item>(ctx.memory(), std::span<const Item>(host));
  };
  const Array<std::int64_t> starts = upload(offsets);
  const Array<T> device_keys = upload(keys), device_values = upload(values), for_missing = upload(missing),
                 for_unknown = upload(unknown);
  Matrix<T> scratch, out = table_matrix<T>(ctx.device, X.n_rows(), X.n_cols());
  const MatrixView<const T> table = X.is_affine() ? X.values(ctx, scratch) : std::as_const(X.table->X).view();
  ctx.ops<T>().categories->translate(table, X.is_affine() ? VectorView<const std::int32_t>() : X.row_view(),
                                     starts.view(), device_keys.view(), device_values.view(), for_missing.view(),
                                     for_unknown.view(), out.view());
  return out;
}

template <class T>
void refuse_unknown_cells(const Context& ctx, std::string_view owner, const Samples<T>& X, const Matrix<T>& translated) {
  const std::optional<Cell> cell = ctx.ops<T>().tables->find_nonfinite(translated.view());
  if (!cell) return;
  Matrix<T> scratch;
  const MatrixView<const T> row = X.values(ctx, cell->row, 1, scratch);
  T value;
  ctx.memory().to_host(&value, row.data + cell->col, sizeof(T));
  const Feature* feature = feature_at(X.table->features, static_cast<std::size_t>(cell->col));
  std::string text = std::isnan(value) ? "missing (NaN)" : schema::to_string(Value(static_cast<double>(value)));
  if (feature && feature->is_nominal && !std::isnan(value))
    text = "'" + feature->categories[static_cast<std::size_t>(value)] + "'";
  require(false, ErrorCode::kBadData,
          "{}: column {} has the unknown category {} in row {} (counted from 0), which no fitted row had; set its handle_unknown to another value than \"error\"",
          owner, X.table->column_label(cell->col), text, cell->row);
}

std::vector<std::int64_t> rare_categories(const RarityRule& rule, const ColumnCategories& column, std::int64_t n,
                                          std::int64_t n_rows) {
  std::vector<char> is_rare(static_cast<std::size_t>(n), 0);
  const auto* count = std::get_if<std::int64_t>(&rule.min_frequency.data);
  const auto* share = std::get_if<double>(&rule.min_frequency.data);
  const double least = count ? static_cast<double>(*count) : share ? *share * static_cast<double>(n_rows) : 0;
  for (std::size_t c = 0; c < is_rare.size(); ++c) is_rare[c] = static_cast<double>(column.counts[c]) < least;
  const std::int64_t groups = n - std::count(is_rare.begin(), is_rare.end(), 1) + 1;
  if (rule.max_categories && *rule.max_categories < groups) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return column.counts[static_cast<std::size_t>(a)] < column.counts[static_cast<std::size_t>(b)];
    });
    const std::int64_t frequent = *rule.max_categories - 1;  // one group is that of the rare ones
    for (std::int64_t i = 0; i < n - frequent; ++i) is_rare[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = 1;
  }
  std::vector<std::int64_t> rare;
  for (std::int64_t c = 0; c < n; ++c)
    if (is_rare[static_cast<std::size_t>(c)]) rare.push_back(c);
  return rare;
}

std::vector<std::int64_t> grouped_places(const std::vector<std::int64_t>& rare, std::int64_t n) {
  std::vector<std::int64_t> places;
  std::int64_t next = 0;
  const std::int64_t group = n - static_cast<std::int64_t>(rare.size());
  for (std::int64_t c = 0; c < n; ++c) places.push_back(std::binary_search(rare.begin(), rare.end(), c) ? group : next++);
  return places;
}

std::vector<schema::ParamForm> category_forms() {
  return {string_form(), number_form(), boolean_form(), nan_form(), null_form()};
}

std::vector<schema::ParamForm> categories_forms() {
  const schema::ParamForm list = array_form(category_forms());
  return {string_form({"auto"}), array_form({list})};
}

std::vector<schema::ParamForm> min_frequency_forms() {
  return {integer_form(at_least(1)), number_form(inside(0, 1)), null_form()};
}

template <class T>
Value names_in(const Table<T>& table) {
  if (table.features.empty()) return nullptr;
  schema::ValueList names;
  for (const Feature& feature : table.features) names.emplace_back(feature.name);
  return names;
}

#define KEDGE_INSTANTIATE(T)                                                                                                     \
  template std::vector<ColumnCategories> found_categories(const Context&, const Samples<T>&);                                    \
  template std::vector<ColumnCategories> given_categories(std::string_view, const Value&, const Samples<T>&,                     \
                                                          const std::vector<ColumnCategories>&);                                 \
  template void require_known_categories(std::string_view, const Samples<T>&, const std::vector<ColumnCategories>&,              \
                                         const std::vector<ColumnCategories>&);                                                  \
  template Matrix<T> translated_cells(const Context&, std::string_view, const Samples<T>&, const std::vector<ColumnCategories>&, \
                                      const std::vector<ColumnAnswers<T>>&);                                                     \
  template void refuse_unknown_cells(const Context&, std::string_view, const Samples<T>&, const Matrix<T>&);                     \
  template Value names_in(const Table<T>&);
KEDGE_INSTANTIATE(float)
KEDGE_INSTANTIATE(double)
#undef KEDGE_INSTANTIATE

}  // namespace kedge::engine
