// OneClassSVM: a boundary around most of the rows.
#pragma once

#include <vector>

#include "engine/estimators/memory_need.h"
#include "engine/estimators/svm/svm_model.h"
#include "engine/estimators/svm/svm_params.h"

namespace kedge::engine {

// Labels are 1 within the boundary and -1 outside of it. Source: Schölkopf and others, "Estimating the support of a
// high-dimensional distribution", Neural Computation 13, 2001; the steps are those of smo_block.h.
template <class T>
class OneClassSVM final : public Clusterer<T> {
 public:
  explicit OneClassSVM(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return Squares::kRows; }
  bool takes_weights() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  SvmParams params_;
  SvmModel<T> model_;
  std::vector<std::int32_t> labels_;
};

}   // namespace kedge::engine
