// Edges of bins: quantiles by numpy's methods, and k-means in one dimension.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace kedge::engine {

// numpy's methods of quantile().
const std::vector<std::string>& quantile_methods();

// The quantile q (0 to 1) of ascending numbers, at least one, by one of quantile_methods(). Source: Hyndman and Fan 1996.
double quantile_by(const std::string& method, std::span<const double> sorted, double q);

// The centres, ascending, that scikit-learn's KMeans(init=centres, n_init=1) finds among ascending numbers; empty weights are 1.
// Lloyd's iterations by the borders between centres and sums over prefixes: O(centres * log(values)) each.
std::vector<double> one_dimensional_means(std::span<const double> sorted, std::span<const double> weights,
                                          std::vector<double> centres);

}  // namespace kedge::engine
