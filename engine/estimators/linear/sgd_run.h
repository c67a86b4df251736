// Stochastic gradient descent over the rows of one line, one row after the other, with scikit-learn's order and
// updates. Host, double.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

enum class SgdLoss { kHinge, kSquaredHinge, kLog, kModifiedHuber, kSquared, kHuber, kTube, kSquaredTube };
enum class SgdRate { kConstant, kOptimal, kInverse, kAdaptive, kPassive, kPassiveSquared };

struct SgdOptions {
  SgdLoss loss = SgdLoss::kHinge;
  double threshold = 1;   // of the hinge: 0 for the perceptron
  double epsilon = 0.1;
  double alpha = 1e-4, l1_ratio = 0;   // l1_ratio: 0 for L2, 1 for L1
  bool has_penalty = true;
  SgdRate rate = SgdRate::kOptimal;
  double eta0 = 0.01, power_t = 0.5;
  bool fit_intercept = true, shuffle = true;
  std::int64_t max_iter = 1000, n_iter_no_change = 5;
  double tol = 1e-3;          // -infinity: never
  std::int64_t average = 0;   // rows before averaging begins; 0: none
};

// The rows of some samples on the host, dense or compressed.
struct SgdRows {
  std::int64_t n_rows = 0, n_cols = 0;
  std::vector<double> values;
  std::vector<std::int64_t> offsets;   // empty where the rows are dense
  std::vector<std::int32_t> columns;
  bool is_sparse() const { return !offsets.empty(); }
};
template <class T>
SgdRows sgd_rows(const Context& ctx, const Samples<T>& X);

struct SgdLine {
  std::vector<double> coef;
  double intercept = 0;
  std::int64_t n_iter = 0;
  bool is_finite = true;             // otherwise the loss or a coefficient left float64 in epoch n_iter
  double first_loss = 0, loss = 0;   // means of the rows in their steps: in no epoch (coefficients of 0), in the last
                                     // whose mean was finite
  // Whether the steps were so long that the loss is far above that of no step.
  bool is_diverged() const {
    constexpr double kFar = 1e6;
    return first_loss > 0 && loss > kFar * first_loss;
  }
};

// y: 1 and -1 for the losses of classes (1 and 0 for kLog), values otherwise. seed: of the shuffles. Source:
// scikit-learn 1.9, _sgd_fast.pyx; Tsuruoka, Tsujii and Ananiadou, ACL 2009, for L1; Bottou, "Stochastic gradient
// descent tricks", 2012, for the average; Crammer et al., JMLR 7, 2006, for the passive-aggressive steps. Cost: two
// passes over a row's values. Errors: kCancelled.
SgdLine run_sgd(const SgdRows& X, std::span<const double> y, std::span<const double> weights, double positive_weight,
                double negative_weight, const SgdOptions& options, std::uint32_t seed,
                const std::function<void(std::int64_t)>& on_epoch);

}   // namespace kedge::engine
