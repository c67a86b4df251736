// The median of weighted numbers.
#pragma once

#include <span>
#include <vector>

namespace kedge::engine {

// Half of the weight lies on either side; where it falls between two values, their mean. As numpy.median without weights (linear
// time), as scikit-learn's _weighted_percentile(50, average=True) with them (a sort). NaN if all weights are 0. values: no NaN, not
// empty.
double weighted_median(std::vector<double> values, std::span<const double> weights);

}  // namespace kedge::engine
