// Draws of numpy's RandomState that are not uniform: normal and binomial numbers, samples without replacement.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/legacy_random.h"

namespace kedge::engine {

// RandomState.standard_normal(): pairs by the polar method; the second of a pair waits for the next call. Source:
// Marsaglia and Bray, "A convenient method for generating normal variables", SIAM Review 6(3), 1964.
class LegacyNormal {
 public:
  double operator()(LegacyRandom& random);

 private:
  std::optional<double> kept_;
};

// RandomState.binomial(n, p) for n >= 0 and 0 <= p <= 1. Source: Kachitvichyanukul and Schmeiser, "Binomial random
// variate generation", CACM 31(2), 1988; where n * min(p, 1 - p) is at most 30, by inversion.
std::int64_t legacy_binomial(LegacyRandom& random, std::int64_t n, double p);

// What sklearn.utils.random.sample_without_replacement(n, size) draws: `size` different numbers below n.
std::vector<std::int64_t> legacy_sample(LegacyRandom& random, std::int64_t n, std::int64_t size);

}   // namespace kedge::engine
