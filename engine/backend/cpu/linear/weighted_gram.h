// Weighted Gram matrices on the CPU.
#pragma once

#include "engine/core/view.h"

namespace kedge::engine {

// LinearOps::weighted_gram().
template <class T>
void weighted_gram(MatrixView<const T> X, MatrixView<const double> W, bool with_ones, MatrixView<T> C);

}   // namespace kedge::engine
