// Makes the GPU's steps of a non-negative factorisation.
#pragma once

#include <memory>

#include "engine/backend/cuda/runtime.h"
#include "engine/backend/ops/factor_steps.h"

namespace kedge::engine {

// Null for more than kMostFactorParts parts, and for none. Borrows the runtime and the problem's memory.
template <class T>
std::unique_ptr<FactorSteps<T>> cuda_factor_steps(CudaRuntime& runtime, const FactorProblem<T>& problem);

}   // namespace kedge::engine
