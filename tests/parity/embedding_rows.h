// The cases of ops that move places. They have no dtype: places are what they are.
#pragma once

#include <vector>

#include "tests/parity/cases.h"

namespace kedge::parity {

std::vector<Case> embedding_cases();

}   // namespace kedge::parity
