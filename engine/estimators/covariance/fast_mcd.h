// The minimum covariance determinant: the rows that lie closest together, and what their moments say of all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

struct McdOptions {
  bool assume_centered = false;
  std::optional<double> support_fraction;
  std::uint32_t seed = 0;
};

struct RobustCovariance {
  std::vector<double> raw_location, raw_covariance, location, covariance, precision;
  std::vector<std::uint8_t> raw_support, support;   // 1 for the rows that count
  std::vector<double> distances;                    // squared, of the rows from the location
};

// scikit-learn's FastMCD with its draws: trials on subsets of 300 rows, on the host; the best of them on 1500 rows, and
// the best of these on all rows, on the device. Then the correction for normal data, and one step of reweighting. Cost:
// about 500 trials of 300 * n_features^2, and 10 to 300 passes of n_samples * n_features^2. Errors: kBadData for fewer
// than 2 rows, and where the chosen rows are all equal. Sources: Rousseeuw and Van Driessen, "A fast algorithm for the
// minimum covariance determinant estimator", Technometrics 41(3), 1999; Croux and Haesbroeck, Journal of Multivariate
// Analysis 71, 1999.
template <class T>
RobustCovariance fast_mcd(const Context& ctx, const char* owner, const Samples<T>& X, const McdOptions& options);

}   // namespace kedge::engine
