// Birch: rows into small subclusters in one pass, these into clusters.
#pragma once

#include <optional>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct BirchParams {
  double threshold = 0.5;
  std::int64_t branching_factor = 50;
  std::optional<std::int64_t> n_clusters = 3;
};

// The means of the subclusters are merged by Ward's linkage. One pass over the rows in their order, about
// branching_factor n_features a row and level of the tree (feature_tree.h).
template <class T>
class Birch final : public Clusterer<T>, public Transformer<T> {
 public:
  explicit Birch(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return Squares::kRows; }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;   // distances to the subclusters' means
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  void label_subclusters(const Context& ctx, const std::vector<double>& means);

  BirchParams params_;
  std::vector<T> centers_;   // of the subclusters, row-major
  std::vector<std::int32_t> cluster_of_, labels_;
  std::int64_t n_features_ = 0;
};

}   // namespace kedge::engine
