// The rows of sums of leaves, which tree_rows() has among its own.
#pragma once

#include "tests/parity/probe.h"

namespace kedge::parity {

template <class T>
std::vector<Row<T>> walk_rows();

}   // namespace kedge::parity
