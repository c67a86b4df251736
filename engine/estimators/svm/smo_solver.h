// The dual problem of a support vector machine, solved in working sets.
#pragma once

#include <cstdint>

#include "engine/estimators/svm/kernel_rows.h"
#include "engine/estimators/svm/smo_problem.h"

namespace kedge::engine {

// Small problems are one working set. Larger ones take the variables that violate most, and those of the former set
// that are between their bounds, 512 together; the decisions of all rows follow after each, by the kernel rows of those
// that moved. The same bits for any number of threads. May be called on several threads where all rows are loaded.
SmoResult solve_smo(KernelRows& kernel, const SmoProblem& problem, const SmoOptions& options);

inline constexpr std::int64_t kWholeProblem = 2048;   // variables of a small problem
inline constexpr std::int64_t kStepsOfASet = 32;      // times its size, at most: then other variables violate more

}   // namespace kedge::engine
