// The trees of an isolation forest: random cuts through small samples, with scikit-learn's draws.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/context.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

struct IsolationOptions {
  std::int64_t n_trees = 100, max_samples = 256, max_features = 1;
  bool bootstrap = false;
  std::span<const double> weights = {};   // of the rows: they are drawn in proportion; empty: all alike
  std::uint32_t seed = 0;
};

struct IsolationForestTrees {
  Forest forest;                                     // its means: the lengths of the paths to the leaves
  std::vector<std::vector<std::int64_t>> features;   // of each tree, in the order of their drawing
};

// The expected length of a path in a tree of n rows: of an unsuccessful search. Source: Liu, Ting and Zhou, "Isolation
// forest", ICDM 2008, equation 1.
double average_path_length(std::int64_t n);

// Only the drawn rows leave the device, at most 64 MiB at once. Cuts are those that scikit-learn makes of the rows in
// float32; thresholds are such that values of T fall on the same side. Errors: kBadData where fewer rows than
// max_samples have a weight.
template <class T>
IsolationForestTrees grow_isolation_trees(const Context& ctx, const char* owner, const Samples<T>& X,
                                          const IsolationOptions& options);

}   // namespace kedge::engine
