// What BayesianRidge and ARDRegression fit: mean coefficients with their covariance, and the precision of the noise.
#pragma once

#include <vector>

#include "engine/estimators/estimator.h"

namespace kedge::engine {

struct BayesianModel {
  std::vector<double> coef, mean;
  std::vector<double> sigma;    // covariances of the coefficients; empty where there are too many of them
  std::vector<double> scores;   // the objective of each iteration, where they are wanted
  double intercept = 0, alpha = 1;
  std::int64_t n_iter = 0;

  // The value of each row of X. Errors: kBadData for other columns than those fitted.
  template <class T>
  std::vector<double> predict(const char* owner, const Context& ctx, const Samples<T>& X) const;
  // `n_sigma`: rows of sigma.
  schema::ValueMap attributes(schema::Value lambda, std::int64_t n_sigma, bool has_sigma) const;
};

// Sum of the absolute differences; 0 before there is anything to compare with.
double total_change(const std::vector<double>& before, const std::vector<double>& coef);

// Population variance of the values, weighted.
double target_variance(const Target& y);

// Covariances of the coefficients are attributes up to this many columns: 2 MB.
inline constexpr std::int64_t kMostCovariances = 512;

}   // namespace kedge::engine
