// How the rows that a model was asked about differ from those that it was fitted on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "schemas/model.h"

namespace kedge::server {

// Below so many rows an index says more about chance than about the rows.
inline constexpr std::int64_t kFewestDriftRows = 100;

// The population stability index: the sum of (seen - trained) * ln(seen / trained) over the bins, a share below 1e-4
// being taken as 1e-4. As many shares of each.
double stability_index(std::span<const double> trained, std::span<const double> seen);

// Of all columns; a column's index is over its bins and that of missing cells. A note where the model has no profile.
schema::ModelDrift drift_of(const schema::ModelInfo& model, const schema::DriftCounts& counts);
// The same number as ModelDrift::psi; nothing where there is none.
std::optional<double> largest_index(const schema::DriftCounts& counts);

// Counters that `counts` has for this profile.
std::size_t bins_of(const schema::ModelProfile& profile);

}   // namespace kedge::server
