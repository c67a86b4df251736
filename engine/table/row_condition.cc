// Reads conditions from left to right.
#include "engine/table/row_condition.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/core/number_text.h"
#include "engine/table/typed_columns.h"
#include "schemas/error.h"

namespace kedge::engine {
namespace {

constexpr std::size_t kLongest = 4096;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// What ends a name or a number that stands without quotes.
bool is_sign(char c) {
  return is_blank(c) || std::string_view("=!<>[],'\"`").find(c) != std::string_view::npos;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  RowCondition condition() {
    if (text_.size() > kLongest) fail(fmt::format("has {} characters, at most {}", text_.size(), kLongest));
    RowCondition read{.column = column()};
    read.comparison = comparison();
    if (read.comparison == Comparison::kIn || read.comparison == Comparison::kNotIn) read.literals = list();
    else if (read.comparison != Comparison::kMissing && read.comparison != Comparison::kPresent)
      read.literals = {literal()};
    skip_blanks();
    if (at_ != text_.size()) fail("has more behind its end");
    return read;
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    throw schema::Error(
        schema::ErrorCode::kInvalidValue,
        fmt::format(
            "the condition '{}' {}, at character {}; conditions look like \"age >= 30\", \"city in ['Paris', 'Rome']\", "
            "\"`net income` notna\"",
            text_.substr(0, 100), problem, at_ + 1),
        path_);
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool takes(std::string_view sign) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  // A word as `in`, which ends at a blank, a sign or the end.
  bool takes_word(std::string_view word) {
    const std::size_t before = at_;
    if (takes(word) && (at_ == text_.size() || is_sign(text_[at_]))) return true;
    at_ = before;
    return false;
  }
  std::string bare() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_sign(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string quoted(char quote) {   // behind the quote; a quote within is doubled
    std::string read;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        if (at_ == text_.size() || text_[at_] != quote) return read;
      }
      read += text_[at_];
    }
    fail("has a quote without its end");
  }
  std::string column() {
    std::string name = takes("`") ? quoted('`') : (skip_blanks(), bare());
    if (name.empty()) fail("has no column");
    return name;
  }
  Comparison comparison() {
    using enum Comparison;
    static constexpr std::array<std::pair<std::string_view, Comparison>, 6> kSigns{
        {{"==", kEqual}, {"!=", kNotEqual}, {"<=", kAtMost}, {">=", kAtLeast}, {"<", kLess}, {">", kMore}}};
    for (const auto& [sign, comparison] : kSigns)
      if (takes(sign)) return comparison;
    if (takes_word("isna")) return kMissing;
    if (takes_word("notna")) return kPresent;
    if (takes_word("in")) return kIn;
    if (takes_word("not") && takes_word("in")) return kNotIn;
    fail("has no comparison: ==, !=, <, <=, >, >=, in, not in, isna, notna");
  }
  Literal literal() {
    for (const char quote : {'\'', '"'})
      if (takes(std::string_view(&quote, 1))) return quoted(quote);
    skip_blanks();
    const std::size_t begin = at_;
    const std::string word = bare();
    if (const std::optional<double> number = number_of(word); number && !std::isnan(*number)) return *number;
    at_ = begin;
    fail("must compare with a number or a text in quotes");
  }
  std::vector<Literal> list() {
    if (!takes("[")) fail("must have a list in brackets");
    std::vector<Literal> read;
    if (takes("]")) return read;
    do read.push_back(literal());
    while (takes(","));
    if (!takes("]")) fail("has a list without its end");
    return read;
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
};

bool compares(Comparison comparison, double cell, double with) {
  switch (comparison) {
    case Comparison::kEqual:
      return cell == with;
    case Comparison::kNotEqual:
      return cell != with;
    case Comparison::kLess:
      return cell < with;
    case Comparison::kAtMost:
      return cell <= with;
    case Comparison::kMore:
      return cell > with;
    default:
      return cell >= with;
  }
}

bool is_among(const RowCondition& condition) {
  return condition.comparison == Comparison::kIn || condition.comparison == Comparison::kNotIn;
}

std::function<bool(double)> number_test(const RowCondition& condition, const std::string& path) {
  std::vector<double> numbers;
  for (const Literal& literal : condition.literals) {
    const double* const number = std::get_if<double>(&literal);
    if (!number)
      throw schema::Error(
          schema::ErrorCode::kInvalidValue,
          fmt::format("column '{}' has numbers, '{}' is a text", condition.column, std::get<std::string>(literal)),
          path);
    numbers.push_back(*number);
  }
  if (!is_among(condition))
    return [comparison = condition.comparison, with = numbers.at(0)](double cell) {
      return compares(comparison, cell, with);
    };
  std::ranges::sort(numbers);
  return [numbers, is_in = condition.comparison == Comparison::kIn](double cell) {
    return (!std::isnan(cell) && std::ranges::binary_search(numbers, cell)) == is_in;
  };
}

// Of the codes of categories: which ones are meant.
std::function<bool(double)> category_test(const RowCondition& condition, const ColumnInfo& column,
                                          const std::string& path) {
  const bool is_negative = condition.comparison == Comparison::kNotEqual || condition.comparison == Comparison::kNotIn;
  if (!is_negative && condition.comparison != Comparison::kEqual && condition.comparison != Comparison::kIn)
    throw schema::Error(
        schema::ErrorCode::kInvalidValue,
        fmt::format("column '{}' has categories, which are equal or not, neither less nor more", column.name), path);
  std::vector<char> meant(column.categories.size());
  for (const Literal& literal : condition.literals) {
    const auto* const text = std::get_if<std::string>(&literal);
    const std::string name = text ? *text : category_name(std::get<double>(literal));
    const auto found = std::ranges::find(column.categories, name);
    if (found != column.categories.end()) meant[static_cast<std::size_t>(found - column.categories.begin())] = 1;
  }
  return [meant, is_negative](double code) {
    const bool is_meant =
        code >= 0 && code < static_cast<double>(meant.size()) && meant[static_cast<std::size_t>(code)];
    return is_meant != is_negative;
  };
}

}   // namespace

RowCondition parse_row_condition(std::string_view text, const std::string& path) {
  return Reader(text, path).condition();
}

std::function<bool(double)> condition_test(const RowCondition& condition, const ColumnInfo& column,
                                           const std::string& path) {
  if (column.values_column < 0)
    throw schema::Error(schema::ErrorCode::kInvalidValue,
                        fmt::format("column '{}' is free text, of which the data set keeps nothing", column.name),
                        path);
  if (condition.comparison == Comparison::kMissing) return [](double cell) { return std::isnan(cell); };
  if (condition.comparison == Comparison::kPresent) return [](double cell) { return !std::isnan(cell); };
  return column.type == ColumnInfo::Type::kNominal ? category_test(condition, column, path)
                                                   : number_test(condition, path);
}

}   // namespace kedge::engine
