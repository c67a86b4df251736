// MiniBatchKMeans: k-means by small random batches.
#pragma once

#include "engine/core/params.h"
#include "engine/estimators/cluster/center_clusterer.h"

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
class MiniBatchKMeans final : public CenterClusterer<T> {
 public:
  explicit MiniBatchKMeans(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  using CenterClusterer<T>::centers_, CenterClusterer<T>::labels_, CenterClusterer<T>::inertia_, CenterClusterer<T>::n_iter_,
      CenterClusterer<T>::n_features_;
  explicit MiniBatchKMeans(const MiniBatchKMeansParams& params);

  MiniBatchKMeansParams params_;
  std::int64_t n_steps_ = 0;
};

}  // namespace kedge::engine
