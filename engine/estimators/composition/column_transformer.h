// ColumnTransformer: other transformers, each on its own columns; their results side by side.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/composition/column_choice.h"
#include "engine/estimators/composition/nested.h"
#include "engine/estimators/fit_transformer.h"
#include "engine/estimators/text/documents.h"

namespace kedge::engine {

struct ColumnTransformerParams {
  schema::Value transformers = schema::ValueList{}, remainder = "drop", transformer_weights, verbose_feature_names_out = true;
};

// Takes nominal columns and missing values where its transformers do. The columns of each transformer are copied once for all
// folds (column_part), their results go into one matrix. Errors: kBadData for columns that the data lack, and those of the
// transformers with their name in front; no columns at all.
template <class T>
class ColumnTransformer final : public Transformer<T>, public FitTransformer<T>, public ReadsTexts {
 public:
  explicit ColumnTransformer(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool accepts_nan() const override { return true; }
  bool accepts_categories() const override { return true; }
  TargetKind target_kind() const override;
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  bool has_own_fit_transform() const override;   // where one of its transformers has
  Samples<T> fit_transform(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;
  std::vector<std::int64_t> text_columns() const override;   // those that no other transformer reads

 private:
  struct Part {
    std::string name, owner;  // owner: "ColumnTransformer: 'num'"
    NestedTransformer<T> transformer;
    std::vector<std::int64_t> columns = {};  // resolved by fit()
    bool is_used() const { return !transformer.is_drop() && !columns.empty(); }
  };
  struct Output {  // of one transform()
    std::vector<Samples<T>> made;
    std::vector<double> weights;
    std::vector<Feature> features;
    std::vector<std::pair<std::string, std::int64_t>> ends;  // by part: where its columns end
  };
  void choose_columns(const Table<T>& table);
  void prepare(const Context& ctx, const Samples<T>& X);   // a fit
  void keep_names(const Output& output);
  // made(part, input): what a part makes of its columns.
  template <class Parts, class Made>
  Output run(const Context& ctx, Parts& parts, const Samples<T>& X, Made made) const;
  Output run(const Context& ctx, const Samples<T>& X) const;

  ColumnTransformerParams params_;
  std::vector<Part> parts_;            // the remainder last
  std::vector<ColumnChoice> choices_;  // of all but the remainder
  std::vector<double> weights_;        // of all but the remainder
  std::vector<std::string> features_in_, features_out_;
  std::vector<std::pair<std::string, std::int64_t>> ends_;
  bool has_names_ = false;
};

}  // namespace kedge::engine
