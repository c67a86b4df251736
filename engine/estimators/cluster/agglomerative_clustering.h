// AgglomerativeClustering: the two nearest clusters become one, until few are left.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/cluster/dendrogram.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/memory_need.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct AgglomerativeParams {
  std::optional<std::int64_t> n_clusters = 2;
  std::string metric = "euclidean", linkage = "ward";
  schema::Value compute_full_tree = "auto";
  std::optional<double> distance_threshold;
  bool compute_distances = false;
};

// labels, children_ and distances_ as scikit-learn numbers them. Source: see linkage.h.
template <class T>
class AgglomerativeClustering final : public Clusterer<T> {
 public:
  explicit AgglomerativeClustering(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override;
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  const std::vector<std::int32_t>& labels() const override { return labels_; }
  bool can_predict() const override { return false; }
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  std::int64_t clusters_wanted(std::int64_t n_rows) const;

  AgglomerativeParams params_;
  Dendrogram tree_;
  std::vector<std::int32_t> labels_;
  std::int64_t n_features_ = 0, n_clusters_ = 0;
};

}   // namespace kedge::engine
