// TargetEncoder: each category becomes the mean of the target in its rows, drawn towards that of all rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/fit_transformer.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/preprocessing/categories.h"
#include "engine/estimators/preprocessing/target_statistics.h"

namespace kedge::engine {

struct TargetEncoderParams {
  schema::Value categories = "auto", smooth = "auto";
  std::string target_type = "auto";
  std::int64_t cv = 5;
  bool shuffle = true;
  std::optional<std::int64_t> random_state;
};

// Takes nominal columns and numbers; a missing cell is a category. The rows of a fit are encoded in folds, each by the
// other folds' rows, so that no row sees its own target; later rows by all. Categories are found and later rows encoded
// on the device; the host sums the target by category and fold, column by column on its threads. Errors: kBadData
// without a target of the wanted kind, for more folds than rows or than the rows of every class.
template <class T>
class TargetEncoder final : public Transformer<T>, public FitTransformer<T> {
 public:
  explicit TargetEncoder(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  TargetKind target_kind() const override;
  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  bool squares_target() const override { return true; }
  bool has_own_fit_transform() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> fit_transform(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  struct Fitted;   // what fit() found of the rows themselves
  Fitted learn(const Context& ctx, const Samples<T>& X, const Target& y);
  void choose_target(const Target& y);
  Matrix<T> place_numbers(const Context& ctx, const Samples<T>& X) const;
  std::vector<std::int32_t> folds_of(const Context& ctx, const Target& y) const;
  std::optional<double> smooth() const;
  std::vector<Feature> features_out(const Table<T>& table) const;

  TargetEncoderParams params_;
  std::vector<ColumnCategories> categories_;
  std::vector<std::vector<double>> encodings_;   // [j * n_outputs + k]: of the categories of column j, output k
  std::vector<double> target_mean_;              // by output
  std::vector<std::string> classes_;             // empty: values
  std::string target_type_;
  schema::Value feature_names_in_;
};

}   // namespace kedge::engine
