// The rows of mixtures.
#pragma once

#include <vector>

#include "tests/parity/probe.h"

namespace kedge::parity {

template <class T>
std::vector<Row<T>> mixture_rows();

}   // namespace kedge::parity
