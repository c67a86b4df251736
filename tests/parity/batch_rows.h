// The cases of steps by a queue of batches, and of recorded steps.
#pragma once

#include <vector>

#include "tests/parity/cases.h"

namespace kedge::parity {

std::vector<Case> batch_cases();

}   // namespace kedge::parity
