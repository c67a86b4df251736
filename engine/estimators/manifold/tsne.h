// TSNE: rows as points of a plane, near rows near each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/backend/ops/embedding.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/manifold/affinities.h"
#include "engine/estimators/memory_need.h"
#include "engine/estimators/neighbors/neighbor_model.h"
#include "schemas/catalogue.h"

namespace kedge::engine {

struct TsneParams : NeighborParams {
  std::int64_t n_components = 2;
  double perplexity = 30, early_exaggeration = 12;
  schema::Value learning_rate = "auto", init = "pca";
  std::int64_t max_iter = 1000, n_iter_without_progress = 300;
  double min_grad_norm = 1e-7, angle = 0.5;
  std::string method = "barnes_hut";
  std::optional<std::int64_t> random_state;
  TsneParams() { metric = "euclidean", p.reset(); }
};

// embedding_ is the answer: other rows have no place in it. The same bits for any number of threads, and for any run on
// one kind of device.
// Source: van der Maaten, Hinton, JMLR 2008, and van der Maaten, JMLR 2014; the schedule is scikit-learn's.
template <class T>
class TSNE final : public Estimator<T> {
 public:
  explicit TSNE(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);

  Squares squares() const override { return squares_of(params_); }
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  NeighborLists neighbor_lists(const Context& ctx, const Samples<T>& X) const;
  std::vector<double> start(const Context& ctx, const Samples<T>& X) const;
  void descend(const Context& ctx, PointDescent& descent);

  TsneParams params_;
  std::vector<double> embedding_;   // a row of n_components each
  double kl_divergence_ = 0, learning_rate_ = 0;
  std::int64_t n_iter_ = 0, n_rows_ = 0, n_features_ = 0;
};

}   // namespace kedge::engine
