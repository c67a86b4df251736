// The rows of a logistic loss, on the CPU.
#pragma once

#include <cstdint>

#include "engine/core/view.h"

namespace kedge::engine {

// logistic_row() of functors.h for rows begin .. end - 1 of the margins Z, which become the derivatives of their losses; returns the sum
// of these. intercepts (of each class) and weights (of each row) may be null.
template <class T>
double logistic_rows(MatrixView<T> Z, const T* intercepts, const std::int32_t* y, const double* weights, std::int64_t begin, std::int64_t end);

}  // namespace kedge::engine
