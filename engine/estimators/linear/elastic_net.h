// ElasticNet and Lasso: least squares with an L1 penalty, and a share of an L2 penalty.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/elastic_net_solver.h"

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
Array<double> normalised_weights(const Context& ctx, VectorView<const double> weights);   // the same on the device
std::vector<std::string> elastic_net_deviations();

// Coordinate descent in double until the duality gap is at most tol * |y|^2 / n: see solve_elastic_nets(), and on very
// many rows, outside of searches, solve_tall_elastic_net(). Errors: kBadData without rows or columns, for weights that
// sum to 0. Warns through the context when max_iter is reached first. The candidates of a search share the problem and
// its Gram matrix; on working sets, those that differ in alpha alone are one path from the largest alpha down, each
// from the solution before: equal to a separate fit within tol, for any order of the candidates.
template <class T>
class ElasticNetModel : public Regressor<T> {
 public:
  void announce(WorkCache& plan, const std::string& content) const override;
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  bool accepts_sparse() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  ElasticNetModel(const char* name, ElasticNetParams params) : name_(name), params_(std::move(params)) {}

 private:
  struct Solved {   // of one penalty
    std::vector<double> coef;
    double intercept = 0, gap = 0;
    std::int64_t n_iter = 0;
  };
  using Path = std::map<double, Solved>;   // by alpha
  std::string problem_key(const std::string& content) const;
  std::string path_key(const std::string& content) const;
  ElasticNetOptions options(const Context& ctx) const;
  Path solved(const LinearProblem<T>& problem, const std::vector<double>& alphas, const ElasticNetSolutions& found) const;
  Path solve_alone(const Context& ctx, const LinearProblem<T>& problem) const;
  Path solve_shared(const Context& ctx, const LinearProblem<T>& problem, const std::string& content) const;

  const char* name_;
  ElasticNetParams params_;
  Solved fit_;
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
