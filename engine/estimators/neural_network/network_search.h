// Small networks of a search: all candidates of a fold side by side, each on one thread.
#pragma once

#include <string>

#include "engine/estimators/estimator.h"
#include "engine/estimators/neural_network/mlp_fit.h"

namespace kedge::engine {

inline constexpr std::int64_t kSmallPass = std::int64_t{1} << 21;   // multiply-adds of a step of a small network

// Says before the search that a network of these parameters will be fitted to samples of this content. key: of the
// parameters.
void announce_network(WorkCache& plan, const std::string& content, TargetKind kind, const std::string& key,
                      const MlpParams& params);

// fit_mlp(), to the bit. In a search on the CPU, the first of several small networks that were announced has all of
// them fitted, each whole on one thread: their steps are too small for several. The others find their fits, with the
// warnings and the error that each has. Errors: those of fit_mlp(), to the candidate that has them.
template <class T>
MlpFit<T> fit_of_search(const Context& ctx, const MlpParams& params, const std::string& key, const Samples<T>& X,
                        const MlpTarget& target);

}   // namespace kedge::engine
