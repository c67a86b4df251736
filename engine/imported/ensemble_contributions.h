// Imported trees as contributions read them.
#pragma once

#include "engine/backend/host/tree_shap.h"
#include "engine/imported/tree_ensemble.h"

namespace kedge::engine {

// Trees that have a cover; their answer is the margin. O(nodes).
ShapTrees shap_trees(const TreeEnsemble& ensemble);

}   // namespace kedge::engine
