// AgglomerativeClustering: the two nearest clusters become one, until few are left.
#pragma once

#include "engine/estimators/cluster/agglomeration.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

// labels, children_ and distances_ as scikit-learn numbers them. Source: see linkage.h.
template <class T>
class AgglomerativeClustering final : public Clusterer<T> {
 public:
  explicit AgglomerativeClustering(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return clusters_.labels; }
  bool can_predict() const override { return false; }
  schema::ValueMap attributes() const override { return clusters_.attributes(params_); }
  void state(StateArchive& archive) override;

 private:
  AgglomerativeParams params_;
  Agglomeration clusters_;
  std::int64_t n_features_ = 0;
};

}   // namespace kedge::engine
