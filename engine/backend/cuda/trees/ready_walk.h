// Trees of boosting and of other programs that lie on the device, packed, for any number of questions.
#pragma once

#include <memory>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/tree_walk.h"

namespace kedge::engine {

// As TreeWalkOps::prepare_walk().
std::unique_ptr<ReadyWalk> make_ready_walk(CudaRuntime& runtime, const WalkTrees& trees, WalkCells cells);

}   // namespace kedge::engine
