// Where the places of an embedding start: by the eigenvectors of its graph, part by part where it falls into parts.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/manifold/affinities.h"

namespace kedge::engine {

// n rows of dims numbers. The parts of a graph lie around centres: on the axes while there are at most 2 dims of them,
// otherwise at the means of `rough`, places of the rows by other means, which is called then alone. Parts too small for
// eigenvectors are places by chance. Errors: kBadData where the solver does not end; kCancelled.
std::vector<double> places_of_graph(const Context& ctx, const char* owner, const Affinities& graph, std::int64_t dims,
                                    std::uint64_t seed, const std::function<std::vector<double>()>& rough);

}   // namespace kedge::engine
