// Neighbours of all rows among those of other groups, on the CPU.
#pragma once

#include "engine/backend/ops/neighbours.h"

namespace kedge::engine {

// NeighbourOps::nearest_of_others(); `ops` search for the rows that bytes do not separate.
template <class T>
bool nearest_of_others(NeighbourOps<T>& ops, MatrixView<const T> X, std::span<const std::int32_t> groups, int k,
                       const std::function<void()>& pause, MatrixView<std::int32_t> indices, MatrixView<T> squared);

}   // namespace kedge::engine
