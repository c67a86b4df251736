// Whether the tables of a job lie in host memory, because a GPU's own does not hold them.
#pragma once

#include <cstdint>

#include "engine/core/context.h"
#include "engine/memory/memory_plan.h"

namespace kedge::engine {

// Where the job's tables (its own, rows taken from it, what transformers make) do not fit what is free of a GPU, and
// the rest of the job does: makes `plan` that of the job with these tables linked (engine/backend/linked_tables.h),
// warns with the sizes, and returns from how many bytes on an array is linked. Otherwise returns 0 and changes nothing:
// on the CPU, for sparse tables, and where the plan fits, or may fit beside its tables. `inputs` are those of the plan.
// Errors: kOutOfMemory with both sizes, where the rest of the job does not fit the GPU, naming the step, or the tables
// do not fit the host's memory, naming select.rows.
std::int64_t link_tables(const Context& ctx, const MemoryInputs& inputs, MemoryPlan& plan);

}   // namespace kedge::engine
