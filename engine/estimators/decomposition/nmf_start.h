// Where NMF's factors start.
#pragma once

#include <cstdint>
#include <string>

#include "engine/estimators/samples.h"

namespace kedge::engine {

template <class T>
struct NmfStart {
  Matrix<T> W, H;   // k x n, transposed; k x d
};

// init: "random", "nndsvd", "nndsvda" or "nndsvdar"; the last three for at most min(n, d) components. Random numbers
// are those of Philox.
template <class T>
NmfStart<T> nmf_start(const Context& ctx, const Samples<T>& X, MatrixView<const T> values, const std::string& init,
                      std::int64_t k, double mean, std::uint64_t seed);

}   // namespace kedge::engine
