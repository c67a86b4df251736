// OrdinalEncoder: the categories of each column as the numbers 0, 1, 2 ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/preprocessing/categories.h"

namespace kedge::engine {

struct OrdinalEncoderParams {
  schema::Value categories = "auto", unknown_value, encoded_missing_value = "NaN", min_frequency;
  std::string handle_unknown = "error";
  std::optional<std::int64_t> max_categories;
};

// Takes nominal columns and numbers. Categories are found on the host, one copy of X; transform() is one look-up. Errors:
// kBadData for a category that no fitted row had, unless handle_unknown says otherwise, and for an unknown_value or
// encoded_missing_value that is the number of a category.
template <class T>
class OrdinalEncoder final : public Transformer<T> {
 public:
  explicit OrdinalEncoder(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  void require_free_codes(const Samples<T>& X) const;
  std::vector<ColumnAnswers<T>> answers(T missing, T unknown) const;

  OrdinalEncoderParams params_;
  std::vector<ColumnCategories> categories_;
  std::vector<std::vector<std::int64_t>> rare_, codes_;  // by column; codes_ by category without the missing one
  std::vector<Feature> features_out_;
  schema::Value feature_names_in_;
};

}  // namespace kedge::engine
