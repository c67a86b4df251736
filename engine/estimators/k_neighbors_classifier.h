// KNeighborsClassifier: the vote of the nearest training rows.
#pragma once

#include <string>

#include "engine/core/params.h"
#include "engine/estimators/classes.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct KNeighborsClassifierParams {
  std::int64_t n_neighbors = 5;
  std::optional<std::string> weights = "uniform";
  std::string algorithm = "auto";
  double p = 2;
  std::string metric = "minkowski";
};

// fit keeps the rows: shares the table where nothing has to be gathered, else holds a copy, O(n_samples * n_features).
// predict: brute force with distance and selection in one pass, O(n_queries * n_samples * n_features), no distance matrix stored.
// Equal distances go to the earlier training row. Errors: kBadData if there are fewer rows than neighbours.
// Source: Cover and Hart, "Nearest neighbor pattern classification", 1967.
template <class T>
class KNeighborsClassifier final : public Classifier<T> {
 public:
  explicit KNeighborsClassifier(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  std::int32_t n_classes() const override { return present_.n_all(); }
  void predict_proba(const Context& ctx, const Samples<T>& X, MatrixView<double> proba) const override;
  schema::ValueMap attributes() const override;

 private:
  KNeighborsClassifierParams params_;
  PresentClasses present_;
  Samples<T> points_;                  // neither selected nor mapped any more
  Array<std::int32_t> positions_;
};

}  // namespace kedge::engine
