// SimpleImputer: missing values replaced by a statistic of their column, or by a constant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/preprocessing/missing_indicator.h"

namespace kedge::engine {

struct SimpleImputerParams {
  schema::Value missing_values = "NaN", fill_value;
  std::string strategy = "mean";
  bool add_indicator = false, keep_empty_features = false;
};

// Takes nominal columns with the strategies most_frequent and constant, and leaves them nominal. The statistics are
// found on the device: the mean in two passes, median and mode by a sort of each column. transform() copies the rows
// and fills them in. A column without any value is left out, with a warning, unless keep_empty_features. Errors:
// kBadData for a nominal column with mean or median, or a fill_value that does not fit a column.
template <class T>
class SimpleImputer final : public Transformer<T> {
 public:
  explicit SimpleImputer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Column {
    schema::Value statistic;  // a number or the name of a category; null: no value was there, the column is left out
    bool is_nominal = false, lacks = false;
  };
  schema::Value statistic_of(double centre, std::int64_t present, const Feature& feature) const;
  schema::Value constant_for(const Feature& feature) const;
  std::vector<Feature> kept_features(const std::vector<Feature>& features, std::vector<T>& fill,
                                     std::vector<std::int64_t>& kept) const;
  Matrix<T> filled(const Context& ctx, MatrixView<const T> values, const std::vector<T>& missing,
                   const std::vector<T>& fill) const;

  SimpleImputerParams params_;
  std::vector<Column> columns_;
};

}  // namespace kedge::engine
