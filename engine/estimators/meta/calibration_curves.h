// The curve from a score to a probability by Platt's sigmoid. On the host, in double.
#pragma once

#include <span>
#include <vector>

namespace kedge::engine {

class StateArchive;

// p = 1 / (1 + exp(a s + b)), the maximum of the likelihood with Platt's priors, so that no p is 0 or 1. Source: Platt,
// "Probabilistic outputs for support vector machines", 1999.
struct SigmoidCurve {
  double a = 0, b = 0;
  // is_second: one per score. weights: empty or one per score, >= 0.
  static SigmoidCurve fitted(std::span<const double> scores, const std::vector<bool>& is_second,
                             std::span<const double> weights);
  double at(double score) const;
};

}   // namespace kedge::engine
