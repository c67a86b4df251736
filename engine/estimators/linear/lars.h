// Lars, LassoLars and LassoLarsIC: regression along the path of least angles, to an end or to the best criterion.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/params.h"
#include "engine/estimators/estimator.h"
#include "engine/estimators/linear/lars_path.h"
#include "engine/estimators/linear/linear_problem.h"
#include "engine/estimators/memory_need.h"

namespace kedge::engine {

// What the five estimators of this path have.
struct LarsParams {
  bool fit_intercept = true;
  double eps = std::numeric_limits<double>::epsilon();
  bool positive = false;
  std::int64_t max_iter = 500;
  // Of Lars and LassoLars.
  std::int64_t n_nonzero_coefs = 500;
  double alpha = 1.0;
  bool fit_path = true;
  std::optional<double> jitter;
  std::optional<std::int64_t> random_state;
  // Of LassoLarsIC.
  std::string criterion = "aic";
  std::optional<double> noise_variance;
  // Of those with folds.
  std::optional<std::int64_t> cv;
  std::int64_t max_n_alphas = 1000;
};

// A line found along a path. One pass over X makes the products of its columns; the path is walked on the host, in
// double, and its cost does not depend on the rows. Errors: kBadData without rows or columns.
template <class T>
class LarsModel : public Regressor<T> {
 public:
  static MemoryNeed memory(const SampleShape& X, const schema::Step& step);
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  LarsModel(const char* name, LarsParams params, bool is_lasso)
      : name_(name), params_(std::move(params)), is_lasso_(is_lasso) {}

  // The whole path to alpha_min, and coef_ and the intercept at its last knot.
  void walk(const Context& ctx, const LinearProblem<T>& problem, const std::vector<double>& gram, double alpha_min,
            std::int64_t max_iter);
  void set_coef(const LinearProblem<T>& problem, std::vector<double> coef);

  const char* name_;
  LarsParams params_;
  bool is_lasso_, keeps_path_ = true;
  LarsPath path_;
  std::vector<double> coef_;
  double intercept_ = 0;
};

// To alpha, or to a number of steps.
template <class T>
class LarsToEnd : public LarsModel<T> {
 public:
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;

 protected:
  LarsToEnd(const char* name, LarsParams params, bool is_lasso) : LarsModel<T>(name, std::move(params), is_lasso) {
    this->keeps_path_ = this->params_.fit_path;
  }
};

template <class T>
class Lars final : public LarsToEnd<T> {
 public:
  explicit Lars(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

template <class T>
class LassoLars final : public LarsToEnd<T> {
 public:
  explicit LassoLars(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

// The knot with the least of Akaike's or of the Bayesian criterion; without noise_variance more rows than columns are
// needed.
template <class T>
class LassoLarsIC final : public LarsModel<T> {
 public:
  explicit LassoLarsIC(const schema::ValueMap& params);
  static schema::EstimatorInfo info();

  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 private:
  double noise_variance(const Context& ctx, const Samples<T>& X, const Target& y,
                        const LinearProblem<T>& problem) const;

  std::vector<double> criterion_;   // of each knot
  double alpha_ = 0, noise_variance_ = 0;
};

// The parameters that all of them accept, and on which no result depends.
ParamSet<LarsParams>& add_lars_ignored(ParamSet<LarsParams>& set);
const std::vector<std::string>& lars_deviations();

}   // namespace kedge::engine
