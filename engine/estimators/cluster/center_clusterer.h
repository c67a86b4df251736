// What a fitted k-means does, however its centres were found: labels, distances, attributes, the stored form.
#pragma once

#include <vector>

#include "engine/estimators/cluster/kept_labels.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

// A k-means estimator derives from it and sets the members in fit().
template <class T>
class CenterClusterer : public Clusterer<T>, public Transformer<T> {
 public:
  Squares squares() const override { return Squares::kRows; }
  bool takes_weights() const override { return true; }
  const std::vector<std::int32_t>& labels() const override { return labels_.get(); }
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  Samples<T> transform(const Context& ctx, const Samples<T>& X) const override;   // distances to the centres
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  // `name` is kept as it is.
  CenterClusterer(const char* name, std::int64_t n_clusters) : name_(name), n_clusters_(n_clusters) {}
  // Errors: kBadData for no rows or fewer than clusters.
  void require_rows_for_clusters(const Samples<T>& X) const;

  std::vector<T> centers_;   // row-major
  KeptLabels labels_;
  double inertia_ = 0;
  std::int64_t n_iter_ = 0, n_features_ = 0;

 private:
  const char* name_;
  std::int64_t n_clusters_;
};

}  // namespace kedge::engine
