// FeatureAgglomeration: columns that are alike become one.
#pragma once

#include "engine/estimators/cluster/agglomeration.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct FeatureAgglomerationParams : AgglomerativeParams {
  std::string pooling_func = "mean";
};

// The columns are clustered as AgglomerativeClustering clusters rows; transform() gives the mean of each cluster.
template <class T>
class FeatureAgglomeration final : public Transformer<T> {
 public:
  explicit FeatureAgglomeration(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override { return clusters_.attributes(params_); }
  void state(StateArchive& archive) override;

 private:
  FeatureAgglomerationParams params_;
  Agglomeration clusters_;
};

}   // namespace kedge::engine
