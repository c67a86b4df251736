// Columns as histogram gradient boosting reads them: their values on the host, their categories, and what constrains
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/estimators/boosting/hist_params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

// The categories that a fit has found. A value.
struct HistCategories {
  std::vector<std::uint8_t> is_category;   // by column
  std::vector<std::vector<std::string>>
      names;   // of a nominal column, ascending by bytes: its categories are 0, 1, ...
  std::vector<std::vector<double>>
      numbers;   // by column: the categories' numbers, ascending; empty for a column of numbers
  std::int64_t n_cols() const { return static_cast<std::int64_t>(is_category.size()); }
  bool is_nominal(std::int64_t column) const { return !names[static_cast<std::size_t>(column)].empty(); }
};

// Which columns are categories, by categorical_features and the data set. Errors: kInvalidValue; kBadData for a nominal
// column that is not among them.
template <class T>
std::vector<std::uint8_t> category_mask(const char* owner, const schema::Value& categorical_features,
                                        const Samples<T>& X);

// Errors: kBadData if a nominal column of the fit is not one here, or the other way round.
template <class T>
void require_nominal(const char* owner, const Samples<T>& X, const HistCategories& fitted);

// The values of X, where the device computes and in host memory: there where they lie, or a copy that is made when it
// is first asked for, in which a category of a nominal column is its place in `names`, one that is not there NaN.
// Borrows X.
template <class T>
class HistRows {
 public:
  // Of a fit: finds the categories. Errors: kBadData for a column with more than max_bins of them.
  HistRows(const Context& ctx, const char* owner, const Samples<T>& X, std::vector<std::uint8_t> mask,
           std::int64_t max_bins, HistCategories& found);
  // Of a prediction. Errors: as require_nominal().
  HistRows(const Context& ctx, const char* owner, const Samples<T>& X, const HistCategories& fitted);
  MatrixView<const T> values() const { return values_; }   // categories by the table's codes
  MatrixView<const T> host();

 private:
  void translate(const Samples<T>& X, const HistCategories& categories);

  const Context& ctx_;
  Matrix<T> scratch_;
  std::vector<T> copy_;
  MatrixView<const T> values_, host_;
  bool is_on_host_ = false;
};

// What the parameters say of each column. Errors: kInvalidValue, naming the parameter.
template <class T>
std::vector<std::int8_t> monotonic_signs(const char* owner, const schema::Value& monotonic_cst, const Samples<T>& X,
                                         const HistCategories& categories);
std::vector<std::vector<std::int32_t>> interaction_sets(const char* owner, const schema::Value& interaction_cst,
                                                        std::int64_t n_cols);

}   // namespace kedge::engine
