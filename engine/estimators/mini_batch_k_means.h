// MiniBatchKMeans: k-means by small random batches.
#pragma once

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct MiniBatchKMeansParams {
  std::int64_t n_clusters = 8;
  schema::Value init = "k-means++";
  std::int64_t max_iter = 100, batch_size = 1024;
  bool compute_labels = true;
  std::optional<std::int64_t> random_state;
  double tol = 0;
  std::optional<std::int64_t> max_no_improvement = 10, init_size;
  schema::Value n_init = "auto";
  double reassignment_ratio = 0.01;
};

// scikit-learn's algorithm with its draws; rounding may send a draw elsewhere, then the clusters differ as those of another seed do. Cost
// O(batch_size * n_clusters * n_features) a step. Errors: kBadData for fewer rows than clusters. Source: Sculley, "Web-scale
// k-means clustering", WWW 2010.
template <class T>
class MiniBatchKMeans final : public Clusterer<T>, public Transformer<T> {
 public:
  explicit MiniBatchKMeans(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  bool takes_weights() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;   // distances to the centres
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  MiniBatchKMeansParams params_;
  std::vector<T> centers_;   // row-major
  std::vector<std::int32_t> labels_;
  double inertia_ = 0;
  std::int64_t n_iter_ = 0, n_steps_ = 0, n_features_ = 0;
};

}  // namespace kedge::engine
