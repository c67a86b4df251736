// The mutual information that two labellings have by chance.
#pragma once

#include <cstdint>
#include <span>

namespace kedge::engine {

// Mean over all labellings with these cluster sizes (each list sums to n_rows), in nats. Each pair of clusters is a hypergeometric
// distribution, summed from its mode outward by ratios of neighbouring terms: no factorials, so nothing is lost to their size.
// Cost: the square root of the cluster sizes for each pair. Deterministic; uses OpenMP's threads.
// Source: Vinh, Epps, Bailey, "Information theoretic measures for clusterings comparison", JMLR 11, 2010, eq. 24a.
double expected_mutual_information(std::span<const std::int64_t> sizes_a, std::span<const std::int64_t> sizes_b, std::int64_t n_rows);

}  // namespace kedge::engine
