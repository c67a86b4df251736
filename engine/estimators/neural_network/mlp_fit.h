// Trains a network: epochs of batches, or L-BFGS on all rows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/estimators/estimator.h"
#include "engine/estimators/neural_network/mlp_params.h"
#include "engine/estimators/neural_network/mlp_target.h"
#include "engine/estimators/neural_network/network.h"

namespace kedge::engine {

template <class T>
struct MlpFit {
  NetworkShape shape;
  std::vector<T> parameters;
  std::int64_t n_iter = 0, n_seen = 0;   // rows seen: t_
  double loss = 0;
  std::vector<double> loss_curve, validation_scores;
  std::optional<double> best_loss, best_validation_score;
  std::vector<double> moving;    // of batch norms
  std::vector<double> rates;     // by epoch
  std::int64_t best_epoch = 0;   // 1: the first
};

// The same numbers as scikit-learn's for the same seed, up to rounding. Only indices and the loss of an epoch pass
// between host and device. Errors: kBadData for a validation part below 2 rows, weights of sum 0, cells that are no
// codes of their embedding, and where parameters leave their type, or no epoch has a score; kInvalidValue for an
// embedding of a column that there is not.
template <class T>
MlpFit<T> fit_mlp(const Context& ctx, const MlpParams& params, const Samples<T>& X, const MlpTarget& target);

}   // namespace kedge::engine
