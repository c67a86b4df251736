// OneHotEncoder: a column of zeros and ones for each category of each column.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/preprocessing/categories.h"

namespace kedge::engine {

struct OneHotEncoderParams {
  schema::Value categories = "auto", drop, min_frequency;
  std::string handle_unknown = "error", feature_name_combiner = "concat";
  std::optional<std::int64_t> max_categories;
};

// Takes nominal columns and numbers; a missing value is a category of its own. Categories are found on the host, one copy of X;
// transform() is one look-up and one pass that writes the result, X.n_rows() x (all kept categories): dense, or on the CPU sparse where
// that is much smaller (sparse_choice.h). Errors: kBadData for
// a category that no fitted row had, unless handle_unknown says otherwise; for a `drop` that the data do not have.
template <class T>
class OneHotEncoder final : public Transformer<T> {
 public:
  explicit OneHotEncoder(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  // What one column becomes: groups of categories (each its own, the rare ones together, last), less the dropped group.
  struct Coded {
    std::vector<std::int64_t> rare;
    std::vector<std::int64_t> group;  // of each category
    std::int64_t n_groups = 0;
    std::optional<std::int64_t> dropped;  // a group
    std::int64_t first = 0;               // its first output column
    std::int64_t width() const { return n_groups - dropped.has_value(); }
    // Output column of a group, or -1 for the dropped one.
    std::int64_t place(std::int64_t of_group) const;
  };

  void choose_dropped(const Samples<T>& X);
  std::optional<std::int64_t> named_drop(const schema::Value& category, std::size_t j, const std::string& label) const;
  void name_outputs(const Table<T>& table);
  ColumnAnswers<T> answers(std::size_t j, T unknown) const;
  Matrix<T> positions(const Context& ctx, const Samples<T>& X) const;
  void warn_of_unknown(const Context& ctx, const Samples<T>& X) const;
  CsrMatrix<T> sparse_ones(const Context& ctx, const Matrix<T>& places) const;

  OneHotEncoderParams params_;
  std::vector<ColumnCategories> categories_;
  std::vector<Coded> coded_;
  std::vector<Feature> features_out_;
  schema::Value feature_names_in_;
};

}  // namespace kedge::engine
