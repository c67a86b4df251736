// LocalOutlierFactor: outliers are rows that are less dense than their neighbours.
#pragma once

#include <vector>

#include "engine/estimators/memory_need.h"
#include "engine/estimators/neighbors/neighbor_model.h"
#include "engine/estimators/row_scores.h"

namespace kedge::engine {

struct LocalOutlierFactorParams : NeighborParams {
  std::int64_t n_neighbors = 20;
  schema::Value contamination = "auto";
  bool novelty = false;
};

// Neighbours by the index that all neighbour estimators use; what is made of their lists stays on the device. With
// novelty = false it judges the fitted rows alone: by negative_outlier_factor_ and offset_. Cost: that of a search for
// n_neighbors + 1 neighbours of each row. Errors: kBadData for fewer than 2 rows. Source: Breunig, Kriegel, Ng and
// Sander, "LOF: identifying density-based local outliers", SIGMOD 2000.
template <class T>
class LocalOutlierFactor final : public OutlierDetector<T> {
 public:
  explicit LocalOutlierFactor(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return squares_of(params_); }
  bool can_predict() const override { return params_.novelty; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  using Lists = typename NeighborModel<T>::DeviceLists;
  Matrix<double> scores(const Context& ctx, const Samples<T>& X) const override;

  LocalOutlierFactorParams params_;
  NeighborModel<T> model_;
  std::int64_t n_neighbors_ = 0;
  std::vector<T> k_distances_, densities_;   // of the fitted rows: to the last neighbour, and local reachability
  std::vector<double> factors_;              // negative_outlier_factor_
};

}   // namespace kedge::engine
