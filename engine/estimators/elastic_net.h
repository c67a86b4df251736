// ElasticNet and Lasso: least squares with an L1 penalty, and a share of an L2 penalty.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/elastic_net_solver.h"
#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct ElasticNetParams {
  double alpha = 1.0;
  double l1_ratio = 0.5;
  bool fit_intercept = true;
  std::int64_t max_iter = 1000;
  double tol = 1e-4;
  bool positive = false;
  std::optional<std::int64_t> random_state;
  std::string selection = "cyclic";
};

// What the options of the op are made of; shared with the cross-validated estimators.
ElasticNetOptions descent_options(const Context& ctx, double tol, std::int64_t max_iter, bool positive,
                                  const std::string& selection, const std::optional<std::int64_t>& random_state);
// Weights that sum to the number of rows, as scikit-learn scales them; empty stays empty.
std::vector<double> normalised_weights(std::vector<double> weights);
std::vector<std::string> elastic_net_deviations();

// Coordinate descent in double until the duality gap is at most tol * |y|^2 / n: see solve_elastic_nets(). Errors: kBadData
// without rows or columns, for weights that sum to 0. Warns through the context when max_iter is reached first.
template <class T>
class ElasticNetModel : public Regressor<T> {
 public:
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  bool takes_weights() const override { return true; }
  bool accepts_sparse() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;

 protected:
  ElasticNetModel(const char* name, ElasticNetParams params) : name_(name), params_(std::move(params)) {}

 private:
  const char* name_;
  ElasticNetParams params_;
  std::vector<double> coef_;
  double intercept_ = 0, dual_gap_ = 0;
  std::int64_t n_iter_ = 0;
};

template <class T>
class ElasticNet final : public ElasticNetModel<T> {
 public:
  explicit ElasticNet(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

template <class T>
class Lasso final : public ElasticNetModel<T> {
 public:
  explicit Lasso(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

}   // namespace kedge::engine
