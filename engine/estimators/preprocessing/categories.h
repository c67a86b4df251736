// The categories of columns in scikit-learn's order, and the dictionaries that turn cells into what an encoder makes of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

// The categories of one fitted column: names of a nominal column or numbers of a numeric one, ascending (names by their bytes,
// which is scikit-learn's order of their code points); the missing value is a category too, the last one. A value.
struct ColumnCategories {
  bool is_nominal = false;
  std::vector<std::string> names;  // of a nominal column
  std::vector<double> numbers;     // of a numeric one
  bool has_missing = false;
  std::vector<std::int64_t> counts;  // rows of each category; only if they were counted

  std::int64_t n_known() const {
    return static_cast<std::int64_t>(is_nominal ? names.size() : numbers.size());
  }  // without missing
  std::int64_t size() const { return n_known() + has_missing; }
  // Place of a category as the user writes it (a name, a number; null or NaN for missing), or nothing.
  std::optional<std::int64_t> find(const schema::Value& category) const;
  schema::Value value(std::int64_t place) const;                        // a string, a number, or NaN for missing
  schema::Value values(const std::vector<std::int64_t>& places) const;  // a list of them
  schema::Value all_values() const;
  void state(StateArchive& archive);
  // One for each category, as scikit-learn puts it into feature names: "a", "2", "0.5", "nan". Whole numbers have no decimals where all
  // are whole.
  std::vector<std::string> labels() const;
};

// What X holds, column by column; counted on the device, of which only the categories come back.
template <class T>
std::vector<ColumnCategories> found_categories(const Context& ctx, const Samples<T>& X);

// The categories that the user gave, one list a column, checked as scikit-learn checks them; counts are taken from `found`.
// Errors: kBadData for another number of columns; kInvalidValue for repeated or, in a numeric column, unsorted or non-numeric
// ones.
template <class T>
std::vector<ColumnCategories> given_categories(std::string_view owner, const schema::Value& categories, const Samples<T>& X,
                                               const std::vector<ColumnCategories>& found);

// Errors: kBadData for a category of `found` that is not `given`.
template <class T>
void require_known_categories(std::string_view owner, const Samples<T>& X, const std::vector<ColumnCategories>& given,
                              const std::vector<ColumnCategories>& found);

// For each column the answer to each of its categories, and to what is none.
template <class T>
struct ColumnAnswers {
  std::vector<T> answers;  // by place of the category
  T missing, unknown;      // for a missing cell; for a cell that is no category
};

// Looks the cells of X up among the categories: out[i, j] is the answer of column j to X[i, j]. Categories of nominal columns are
// found by name, so that X may be of another table than the fitted one. Errors: kBadData if a column changed from nominal to
// numeric.
template <class T>
Matrix<T> translated_cells(const Context& ctx, std::string_view owner, const Samples<T>& X,
                           const std::vector<ColumnCategories>& categories, const std::vector<ColumnAnswers<T>>& answers);

// Throws kBadData "OWNER: column 'sex' has the unknown category 'x' in row 17 ..." for the first NaN of `translated`, if any.
template <class T>
void refuse_unknown_cells(const Context& ctx, std::string_view owner, const Samples<T>& X, const Matrix<T>& translated);

// Which categories are rare: scikit-learn's min_frequency (a count, or a share of n_rows) and max_categories.
struct RarityRule {
  schema::Value min_frequency;
  std::optional<std::int64_t> max_categories;
  bool is_set() const { return max_categories || !min_frequency.is_null(); }
};
// Places of the rare ones among the first `n` categories, ascending; empty: none.
std::vector<std::int64_t> rare_categories(const RarityRule& rule, const ColumnCategories& column, std::int64_t n,
                                          std::int64_t n_rows);

// Where each of `n` categories goes once the rare ones are grouped behind the others.
std::vector<std::int64_t> grouped_places(const std::vector<std::int64_t>& rare, std::int64_t n);

std::vector<schema::ParamForm> category_forms();    // one category as the user writes it
std::vector<schema::ParamForm> categories_forms();  // "auto" or a list of lists
std::vector<schema::ParamForm> min_frequency_forms();

// feature_names_in_ of an estimator that was fitted with this table; null where the table names nothing.
template <class T>
schema::Value names_in(const Table<T>& table);

}  // namespace kedge::engine
