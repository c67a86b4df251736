// The losses of boosting: their gradients, second derivatives, values and first guesses, row by row on the host.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/backend/boost_functors.h"

namespace kedge::engine {

// What the trees fit. Rows in the order of the table that they grow on; host memory.
struct BoostTarget {
  BoostLoss loss = BoostLoss::kSquared;
  double quantile = 0.5;
  std::int32_t n_outputs = 1;        // trees of an iteration: classes of kMultinomial, otherwise 1
  std::span<const double> y;         // values, or numbers of classes
  std::span<const double> weights;   // empty: 1 each
  std::int64_t n_rows() const { return static_cast<std::int64_t>(y.size()); }
  // Whether every second derivative is 1: for these losses it is the weight.
  bool has_unit_hessians() const { return is_flat() && weights.empty(); }
  bool is_flat() const { return loss == BoostLoss::kSquared || is_piecewise(); }
  // Whether leaves predict a quantile of the residuals and not a Newton step.
  bool is_piecewise() const { return loss == BoostLoss::kAbsolute || loss == BoostLoss::kQuantile; }
};

// First and second derivatives of the loss by the raw prediction; raw, gradients and hessians: n_outputs x n_rows,
// output by output. `hessians` stays as it is where has_unit_hessians().
void boost_gradients(const BoostTarget& target, const std::vector<double>& raw, std::vector<double>& gradients,
                     std::vector<double>& hessians);

// Weighted mean loss. Sums of chunks of rows are added in order.
double boost_loss(const BoostTarget& target, const std::vector<double>& raw);

// The constant raw prediction with the least loss, one for each output.
std::vector<double> boost_baseline(const BoostTarget& target);

// The constant to add to the predictions of some rows for the least loss, for is_piecewise(): the (weighted) quantile
// of their residuals.
double boost_residual(const BoostTarget& target, std::vector<double>& residuals, std::span<const double> weights);

// In place: raw predictions (n_outputs x n_rows) become probabilities of classes or values. kBinomial: of the second
// class.
void boost_link(BoostLoss loss, std::int32_t n_outputs, std::span<double> raw);

}   // namespace kedge::engine
