// The largest of numbers of which some may be NaN. Rounding bounds are made of it: NaN must not be lost, whatever its
// place.
#pragma once

#include "engine/core/portability.h"

namespace kedge::engine {

// The larger one; NaN where either is. In any order of many numbers the same.
template <class T>
KEDGE_HD T larger_or_nan(T a, T b) {
  return a > b || a != a ? a : b;
}

}   // namespace kedge::engine
