// DBSCAN: clusters of rows that are dense, and noise.
#pragma once

#include "engine/estimators/estimator.h"
#include "engine/estimators/neighbors/neighbor_model.h"

namespace kedge::engine {

struct DbscanParams : NeighborParams {
  double eps = 0.5;
  std::int64_t min_samples = 5;
  DbscanParams() { metric = "euclidean", p.reset(); }
};

// labels as scikit-learn numbers them: clusters by their first core row; a border row goes to the first of its
// clusters. In up to 10 columns walks of a k-d tree, otherwise a scan of all pairs in tiles; no distances are stored.
// Source: Ester, Kriegel, Sander, Xu, "A density-based algorithm for discovering clusters", KDD 1996.
template <class T>
class DBSCAN final : public Clusterer<T> {
 public:
  explicit DBSCAN(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  Squares squares() const override { return squares_of(params_); }
  bool takes_weights() const override { return true; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  bool can_predict() const override { return false; }
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  DbscanParams params_;
  std::vector<std::int32_t> labels_, core_;
  std::vector<double> components_;   // the core rows; empty where they are too many, and on other ranks than the first
  std::int64_t n_features_ = 0;
};

}  // namespace kedge::engine
