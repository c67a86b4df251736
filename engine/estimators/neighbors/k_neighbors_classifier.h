// KNeighborsClassifier: the vote of the nearest training rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/neighbors/neighbor_model.h"

namespace kedge::engine {

struct KNeighborsClassifierParams : NeighborParams {
  std::int64_t n_neighbors = 5;
  std::optional<std::string> weights = "uniform";
};

// fit keeps the rows and prepares them: neighbor_model.h. predict: walks of a k-d tree in few columns; otherwise
// distance and selection in one pass, O(n_queries * n_samples * n_features), no distance matrix stored. Equal distances
// go to the earlier training row. Errors: kBadData if there are fewer rows than neighbours. Source: Cover and Hart,
// "Nearest neighbor pattern classification", 1967.
template <class T>
class KNeighborsClassifier final : public Classifier<T> {
 public:
  explicit KNeighborsClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void announce(WorkCache& plan, const std::string& content) const override {
    NeighborModel<T>::announce(plan, content, params_, params_.n_neighbors);
  }
  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  std::vector<std::int32_t> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  // Calls take(row, share of the votes of each class) for the rows of X in order.
  template <class Take>
  void visit_votes(const Context& ctx, const Samples<T>& X, const Take& take) const;

  KNeighborsClassifierParams params_;
  PresentClasses present_;
  std::vector<std::int32_t> codes_;
  NeighborModel<T> model_;
};

}  // namespace kedge::engine
