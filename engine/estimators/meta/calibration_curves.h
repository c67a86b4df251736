// From scores to probabilities: Platt's sigmoid, and one temperature for all classes. On the host, in double.
#pragma once

#include <cstdint>
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

// Probabilities softmax(beta z) of the logits z of a row, with one beta for all rows, which is the minimum of the log
// loss for log(beta) between -10 and 10. Source: Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural
// networks", ICML 2017.
struct Temperature {
  double beta = 1;   // one part of the temperature
  // logits: n_classes a row, -infinity for a class that cannot be; codes: one a row; weights: empty or one a row, >= 0.
  static Temperature fitted(std::span<const double> logits, std::span<const std::int32_t> codes,
                            std::span<const double> weights, std::int64_t n_classes);
  void shares(std::span<const double> logits, std::span<double> shares) const;   // of a row
};

}   // namespace kedge::engine
