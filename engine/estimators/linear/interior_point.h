// Lines of least pinball loss by an interior point method, whose numbers of a row stay on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/estimators/samples.h"

namespace kedge::engine {

struct PinballProblem {
  double quantile = 0.5;
  std::vector<double> shift, scale;   // of each column: (x - shift) * scale is fitted
  std::vector<double> penalty;        // of the magnitude of each of its coefficients, added to the sum of losses
  bool has_intercept = true;
};

struct PinballLine {
  std::vector<double> coef;   // of the scaled columns, then the intercept where there is one
  std::int64_t n_iter = 0;
  double gap = 0, loss = 0;   // how far the sum of losses and penalties is from its minimum, at most; and the sum
};

// X dense; y and weights (device): one a row, weights above 0 or none. Errors: kCancelled.
template <class T>
PinballLine least_pinball(const Context& ctx, const Samples<T>& X, MatrixView<const double> y,
                          VectorView<const double> weights, const PinballProblem& problem);

}   // namespace kedge::engine
