// ElasticNetCV and LassoCV: the penalty chosen by cross-validation along a path.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/estimators/linear/elastic_net.h"

namespace kedge::engine {

struct ElasticNetCVParams {
  schema::Value l1_ratio = 0.5;
  double eps = 1e-3;
  schema::Value alphas = std::int64_t{100};
  bool fit_intercept = true;
  std::int64_t max_iter = 1000;
  double tol = 1e-4;
  std::optional<std::int64_t> cv;
  bool positive = false;
  std::optional<std::int64_t> random_state;
  std::string selection = "cyclic";
};

// KFold without shuffling; for each share of the L1 penalty, the alphas in descending order from warm starts, in all folds at
// once. One pass over X gives the Gram matrix of each test fold; a training set's is the sum of the others, centred by its own
// means. Where columns are many, folds are solved by working sets instead. The best mean squared error decides, and the model is
// fitted to all rows. Errors: kBadData for fewer rows than folds; kInvalidValue for an l1_ratio of 0 without alphas.
template <class T>
class ElasticNetCVModel : public Regressor<T> {
 public:
  void fit(const Context& ctx, const Samples<T>& X, const Target& y) override;
  Squares squares() const override { return Squares::kColumns; }
  bool squares_target() const override { return true; }
  bool takes_weights() const override { return true; }
  std::vector<double> predict(const Context& ctx, const Samples<T>& X) const override;
  schema::ValueMap attributes() const override;
  void state(StateArchive& archive) override;

 protected:
  ElasticNetCVModel(const char* name, ElasticNetCVParams params, bool has_ratio);

 private:
  std::vector<std::vector<double>> alpha_grids(const Context& ctx, const LinearProblem<T>& problem) const;

  const char* name_;
  ElasticNetCVParams params_;
  bool has_ratio_;
  std::vector<double> ratios_;
  std::vector<std::vector<double>> alphas_;   // of each ratio, descending
  std::vector<double> mse_;                   // ratios x alphas x folds
  std::int64_t n_folds_ = 0;
  std::vector<double> coef_;
  double alpha_ = 0, l1_ratio_ = 1, intercept_ = 0, dual_gap_ = 0;
  std::int64_t n_iter_ = 0;
};

template <class T>
class ElasticNetCV final : public ElasticNetCVModel<T> {
 public:
  explicit ElasticNetCV(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

template <class T>
class LassoCV final : public ElasticNetCVModel<T> {
 public:
  explicit LassoCV(const schema::ValueMap& params);
  static schema::EstimatorInfo info();
};

}   // namespace kedge::engine
