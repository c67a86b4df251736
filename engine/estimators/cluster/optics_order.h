// The order in which OPTICS reaches rows, and how far each of them is then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/distance.h"
#include "engine/core/context.h"

namespace kedge::engine {

// By row, except for `order`: the rows one after the other.
struct OpticsOrder {
  std::vector<std::int32_t> order, predecessor;   // predecessor: -1 where nothing reached the row
  std::vector<double> core, reach;                // distances; infinite: none
};

// What the rows within max_eps of each other are.
struct OpticsRows {
  const std::vector<double>& rows;   // row-major; of length 1 where `halves`
  std::int64_t n, dims;
  Distance distance;
  bool halves;    // distances are half the squared ones, as those of cosines are
  double limit;   // of neighbours, reduced
  double distance_of(double reduced) const { return halves ? reduced / 2 : distance.restored(reduced); }
};

// The neighbours of each row, that of row i from offsets[i] on. Empty offsets: they are not known.
struct OpticsLists {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> rows;
};

// numpy.around() to 15 digits, which scikit-learn does with every distance, so that equal ones are equal.
double optics_rounded(double distance);

// The next row is the one that is reached nearest, of equal ones the lowest. core: for each row its core distance,
// infinite where it reaches no others. With lists each step looks at the neighbours alone, otherwise at all rows that
// are left: n^2 / 2 distances, none of which is stored. Errors: kCancelled. Source: Ankerst, Breunig, Kriegel, Sander,
// "OPTICS: ordering points to identify the clustering structure", SIGMOD 1999.
OpticsOrder optics_order(const Context& ctx, const OpticsRows& points, std::vector<double> core,
                         const OpticsLists& lists);

}   // namespace kedge::engine
