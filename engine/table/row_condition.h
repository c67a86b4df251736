// One condition of select.where, or of a target that says what it is true of: "age >= 30", "city in ['Paris', 'Rome']",
// "`net income` notna".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/dataset_file.h"

namespace kedge::engine {

enum class Comparison { kEqual, kNotEqual, kLess, kAtMost, kMore, kAtLeast, kIn, kNotIn, kMissing, kPresent };

using Literal = std::variant<double, std::string>;

// A value.
struct RowCondition {
  std::string column;
  Comparison comparison = Comparison::kEqual;
  std::vector<Literal> literals = {};   // one; of kIn and kNotIn any number; of kMissing and kPresent none
};

// COLUMN, then ==, !=, <, <=, >, >= and a number or a quoted text; `in` or `not in` and a list of them in brackets;
// `isna`; `notna`. A column's name stands as it is or, with blanks or signs in it, between backticks. Errors:
// kInvalidValue at `path`, with the place.
RowCondition parse_row_condition(std::string_view text, const std::string& path);

// Whether a cell of `column` meets it: a number, or the code of a category; NaN where it is missing, which differs from
// everything. Errors: kInvalidValue at `path` for a comparison or a value that the column does not have, and for free
// text.
std::function<bool(double)> condition_test(const RowCondition& condition, const ColumnInfo& column,
                                           const std::string& path);

}   // namespace kedge::engine
