// The stored state of what several estimators hold: feature names and forests.
#pragma once

#include <string_view>
#include <vector>

#include "engine/backend/ops/trees.h"
#include "engine/core/state_archive.h"
#include "engine/estimators/samples.h"

namespace kedge::engine {

void state_of(StateArchive& archive, std::string_view name, std::vector<Feature>& features);

// A loaded forest has at least one node a tree; children lie behind their parent in the same tree, the left one next to it, so that every
// walk ends; features are columns; shares are finite.
// n_classes: 0 for values.
void forest_state(StateArchive& archive, Forest& forest, std::int32_t n_classes);

}  // namespace kedge::engine
