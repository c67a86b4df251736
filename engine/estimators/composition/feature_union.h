// FeatureUnion: several transformers on the same columns; their results side by side.
#pragma once

#include <string>
#include <vector>

#include "engine/estimators/composition/nested.h"
#include "engine/estimators/fit_transformer.h"
#include "engine/estimators/text/documents.h"

namespace kedge::engine {

struct FeatureUnionParams {
  schema::Value transformer_list = schema::ValueList{}, transformer_weights, verbose_feature_names_out = true;
};

// Takes nominal columns and missing values where its transformers do. All read the same samples; their results go into one
// matrix. Errors: those of the transformers with their name in front; kBadData if there are none.
template <class T>
class FeatureUnion final : public Transformer<T>, public FitTransformer<T>, public ReadsTexts {
 public:
  explicit FeatureUnion(const schema::ValueMap& params);
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
  std::vector<std::int64_t> text_columns() const override;   // where all its transformers read texts

 private:
  struct Part {
    std::string name, owner;  // owner: "FeatureUnion: 'pca'"
    double weight;
    NestedTransformer<T> transformer;
  };
  void prepare(const Context& ctx, const Samples<T>& X);   // a fit
  Samples<T> combined(const Context& ctx, const Samples<T>& X) const;
  // made(part): what a part makes of X.
  template <class Parts, class Made>
  Samples<T> combined(const Context& ctx, Parts& parts, const Samples<T>& X, Made made) const;

  FeatureUnionParams params_;
  std::vector<Part> parts_;  // without those that are dropped
  std::vector<Feature> features_out_;
  schema::Value feature_names_in_;
  std::int64_t n_features_in_ = 0;
};

}  // namespace kedge::engine
