// Formulas of the ops on sparse rows, shared by both bodies.
#pragma once

#include <cstdint>

#include "engine/core/portability.h"

namespace kedge::engine {

// What along a row of `cols` columns adds up: weights of its entries, and of all columns.
struct SparseRowWeights {
  double entries, all;
};

// The variance of a row: squares are the weighted squares of its entries less the mean, and every 0 lies the
// mean away.
KEDGE_HD inline double sparse_variance(double squares, double mean, SparseRowWeights weights, bool is_full) {
  const double zeros = is_full ? 0.0 : weights.all - weights.entries;
  return (squares + zeros * mean * mean) / weights.all;
}

// The value that (x - shift) * scale gives, in double, rounded once; a null pointer stands for no shift or no
// scale.
template <class T>
KEDGE_HD T scaled_entry(T value, const double* scale, std::int32_t column) {
  return scale ? static_cast<T>(static_cast<double>(value) * scale[column]) : value;
}

}  // namespace kedge::engine
