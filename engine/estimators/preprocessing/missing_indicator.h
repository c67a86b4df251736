// MissingIndicator: a column of zeros and ones for each column that lacks values; and what the imputers share with it.
#pragma once

#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

// The forms of missing_values: "NaN", null (the same), a number, or the name of a category.
std::vector<schema::ParamForm> missing_values_forms();

// What stands for a missing cell in each column of X. Where no cell can be missing (the name of a category in a numeric column),
// it is infinity, which no table has. Errors: kBadData if cells are NaN though something else is to be missing.
template <class T>
std::vector<T> missing_cells(const Context& ctx, std::string_view owner, const schema::Value& missing_values,
                             const Samples<T>& X);

// 1 where X[:, columns] is missing, else 0; X is a matrix, `missing` a value for each of its columns.
template <class T>
Matrix<T> missing_marks(const Context& ctx, MatrixView<const T> X, const std::vector<T>& missing,
                        const std::vector<std::int32_t>& columns);

struct MissingIndicatorParams {
  schema::Value missing_values = "NaN";
  std::string features = "missing-only";
  bool error_on_new = true;
};

// Takes nominal columns too. One pass over X, O(cells). Errors: kBadData in transform() for a column that lacks values now but
// did not when it was fitted, if error_on_new.
template <class T>
class MissingIndicator final : public Transformer<T> {
 public:
  explicit MissingIndicator(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  MissingIndicatorParams params_;
  std::size_t n_features_in_ = 0;
  std::vector<std::int32_t> columns_, complete_;  // marked, and those that lacked nothing
  std::vector<Feature> features_out_;
};

}  // namespace kedge::engine
