// Trees whose contributions the device counts, packed, for any number of questions.
#pragma once

#include <memory>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/tree_shap.h"

namespace kedge::engine {

// As TreeShapOps::prepare_shap().
std::unique_ptr<ReadyShap> make_ready_shap(CudaRuntime& runtime, const ShapTrees& trees);

}   // namespace kedge::engine
