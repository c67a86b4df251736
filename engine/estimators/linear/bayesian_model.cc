// Predictions and attributes of the Bayesian linear regressions.
#include "engine/estimators/linear/bayesian_model.h"

#include <cmath>
#include <utility>

#include "engine/estimators/checks.h"
#include "engine/estimators/linear/linear_problem.h"

namespace kedge::engine {

template <class T>
std::vector<double> BayesianModel::predict(const char* owner, const Context& ctx, const Samples<T>& X) const {
  require_fitted_columns(owner, X, coef.size());
  return linear_values(ctx, X, coef, {&intercept, 1}).to_host();
}

schema::ValueMap BayesianModel::attributes(schema::Value lambda, std::int64_t n_sigma, bool has_sigma) const {
  schema::ValueMap map{{"coef_", coef},
                       {"intercept_", intercept},
                       {"alpha_", alpha},
                       {"lambda_", std::move(lambda)},
                       {"n_iter_", n_iter},
                       {"X_offset_", mean},
                       {"X_scale_", std::vector<double>(mean.size(), 1.0)}};
  if (has_sigma) map.emplace_back("sigma_", rows_value(sigma, n_sigma));
  map.emplace_back("scores_", scores);
  return map;
}

double total_change(const std::vector<double>& before, const std::vector<double>& coef) {
  double change = 0;
  for (std::size_t j = 0; j < before.size(); ++j) change += std::abs(before[j] - coef[j]);
  return change;
}

double target_variance(const Target& y) {
  double total = 0, mean = 0, variance = 0;
  const auto weight = [&](std::size_t i) { return y.weights.empty() ? 1.0 : y.weights[i]; };
  for (std::size_t i = 0; i < y.values.size(); ++i) total += weight(i), mean += weight(i) * y.values[i];
  mean /= total;
  for (std::size_t i = 0; i < y.values.size(); ++i) variance += weight(i) * (y.values[i] - mean) * (y.values[i] - mean);
  return variance / total;
}

template std::vector<double> BayesianModel::predict(const char*, const Context&, const Samples<float>&) const;
template std::vector<double> BayesianModel::predict(const char*, const Context&, const Samples<double>&) const;

}   // namespace kedge::engine
