// The dual problem solved by a device that chooses and solves working sets itself.
#pragma once

#include "engine/estimators/svm/device_rows.h"
#include "engine/estimators/svm/smo_problem.h"

namespace kedge::engine {

// solve_smo() of more than kWholeProblem variables: the same bits where the kernel values are the same. The ranges of
// the problem are all rows of the kernel. Waits once a working set; the host has the multipliers at the beginning and
// at the end, and the rows that a set moved.
SmoResult solve_smo(DeviceRows& kernel, const SmoProblem& problem, const SmoOptions& options);

}   // namespace kedge::engine
