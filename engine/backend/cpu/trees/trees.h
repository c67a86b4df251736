// Makes the CPU body of the tree operations.
#pragma once

#include <memory>

#include "engine/backend/ops/trees.h"

namespace kedge::engine {

// n_threads >= 1 threads work on different trees or rows; the results do not depend on their number. `memory` is the host memory
// of the CPU device and must outlive the result.
std::unique_ptr<TreeOps> make_cpu_trees(Memory& memory, int n_threads);

}  // namespace kedge::engine
