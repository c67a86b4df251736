// The score by which early stopping keeps an epoch: of the rows that were set aside.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/estimators/neural_network/mlp_params.h"
#include "engine/estimators/neural_network/mlp_target.h"
#include "engine/metrics/scorers.h"

namespace kedge::engine {

// Accuracy, R^2 or the negated loss leave a device as one sum; a scorer reads the answers for all rows on the host.
// Borrows all that it is made of. Errors: kInvalidValue for a scorer of two classes where there are more.
template <class T>
class ValidationScore {
 public:
  ValidationScore(const Context& ctx, const MlpParams& params, const MlpTarget& target, const DeviceGoals<T>& goals,
                  const std::vector<std::int32_t>& rows);

  // Takes what the last layer gave for the next of the rows, before its intercepts. Z is overwritten.
  void add(VectorView<const std::int32_t> block, VectorView<const T> intercepts, MatrixView<T> Z);
  // The score of the rows that were added; begins anew. NaN where it is not defined for them. Errors: those of the
  // scorer.
  double take();

 private:
  double of_loss(double loss) const;
  double of_scorer();

  const Context& ctx_;
  const MlpParams& params_;
  const MlpTarget& target_;
  const DeviceGoals<T>& goals_;
  const std::vector<std::int32_t>& rows_;
  const Scorer* scorer_;   // null: score or loss
  std::int32_t n_classes_;
  LossSum sum_;
  std::vector<double> outputs_;   // of a scorer: n_outputs for each row
};

}   // namespace kedge::engine
