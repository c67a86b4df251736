// The cases of working sets of support vector machines. They have no dtype: kernel values are floats.
#pragma once

#include <vector>

#include "tests/parity/cases.h"

namespace kedge::parity {

std::vector<Case> svm_cases();

}   // namespace kedge::parity
