// The rows of non-negative factorisation.
#pragma once

#include <vector>

#include "tests/parity/probe.h"

namespace kedge::parity {

template <class T>
std::vector<Row<T>> factor_rows();

}   // namespace kedge::parity
