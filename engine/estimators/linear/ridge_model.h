// Ridge models of one problem: a single fit, or the candidates of a search that differ in alpha alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/estimators/linear/ridge_solver.h"

namespace kedge::engine {

// What a model says of some rows: a part of what all candidates of a search say, or a matrix of its own.
struct RidgeValues {
  std::shared_ptr<const Matrix<double>> held;
  MatrixView<const double> view;   // n x targets, where they are several candidates' with a stride
};

// The models of one problem for several penalties. The predictions of all of them for some rows are one product.
template <class T>
class RidgeFamily {
 public:
  RidgeFamily(RidgeProblem<T> problem, RidgeOptions options, std::string key, const std::set<double>& alphas);
  const RidgeSolution& solution(const Context& ctx, double alpha);
  // X coef + intercept, n x targets, under the model of `alpha`; equal to linear_values() except for the rounding of a
  // product that has more columns.
  RidgeValues values(const Context& ctx, const Samples<T>& X, double alpha);

 private:
  Matrix<double> all_values(const Context& ctx, const Samples<T>& X);

  RidgeProblem<T> problem_;
  RidgeOptions options_;
  std::string key_;
  std::map<double, RidgeSolution> solutions_;   // of every penalty that was announced; without coefficients until one is wanted
};

// What Ridge and RidgeClassifier fit.
template <class T>
class RidgeModel {
 public:
  // `more` is what the estimator adds to the problem, as text.
  static void announce(WorkCache& plan, const std::string& content, const std::string& more, const RidgeOptions& options,
                       const std::vector<double>& alphas);
  void fit(const Context& ctx, const char* owner, const Samples<T>& X, const std::string& more, const RidgeOptions& options,
           const std::vector<double>& alphas, const std::function<RidgeTargets()>& make_targets);
  RidgeValues values(const Context& ctx, const Samples<T>& X) const;
  std::vector<double> host_values(const Context& ctx, const Samples<T>& X) const;   // n x targets
  const RidgeSolution& solution() const { return solution_; }
  void state(StateArchive& archive, std::int64_t n_targets);

 private:
  static std::string work_key(const std::string& content, const std::string& more, const RidgeOptions& options);

  RidgeSolution solution_;
  double alpha_ = 0;
  std::shared_ptr<RidgeFamily<T>> family_;   // owned together with other candidates of a search; null outside of searches
};

}   // namespace kedge::engine
