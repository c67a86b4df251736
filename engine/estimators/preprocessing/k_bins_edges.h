// Edges of bins: quantiles by numpy's methods, and k-means in one dimension.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kedge::engine {

// numpy's methods of quantile().
const std::vector<std::string>& quantile_methods();

// Where the quantile q (0 to 1) of n >= 1 ascending numbers lies: at `way` (0 to 1) between those at two positions.
struct QuantileSpot {
  std::int64_t below, above;
  double way;
};
QuantileSpot quantile_spot(const std::string& method, std::int64_t n, double q);
double quantile_at(const QuantileSpot& spot, double below, double above);   // from the numbers at these positions

// The quantile q (0 to 1) of ascending numbers, at least one, by one of quantile_methods(). Source: Hyndman and Fan 1996.
double quantile_by(const std::string& method, std::span<const double> sorted, double q);

// The centres, ascending, that scikit-learn's KMeans(init=centres, n_init=1) finds among ascending numbers; empty weights are 1.
// Lloyd's iterations by the borders between centres and sums over prefixes: O(centres * log(values)) each.
std::vector<double> one_dimensional_means(std::span<const double> sorted, std::span<const double> weights,
                                          std::vector<double> centres);

}  // namespace kedge::engine
