// The rows of trees over rows: the least edges, and merges.
#pragma once

#include <vector>

#include "tests/parity/probe.h"

namespace kedge::parity {

template <class T>
std::vector<Row<T>> merge_rows();

}   // namespace kedge::parity
