// What a backend may offer beside the closed set of ops: neighbours of all rows at once, each among the rows of other groups.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/core/view.h"

namespace kedge::engine {

// A backend that is none leaves the caller to search for each group by itself, which finds the same.
template <class T>
class GroupNeighbours {
 public:
  virtual ~GroupNeighbours() = default;

  // The k nearest rows for each row of X among the rows of other groups, as Backend::nearest() finds them there, with the indices
  // of X. groups: a number for each row, in host memory; k is at most X.rows less the largest group. Each pair of rows is
  // multiplied once, for both. False, with nothing found, where that saves nothing or needs too much memory. Calls pause(), which
  // may throw, now and then.
  virtual bool nearest_of_others(MatrixView<const T> X, std::span<const std::int32_t> groups, int k,
                                 const std::function<void()>& pause, MatrixView<std::int32_t> indices, MatrixView<T> squared) = 0;
};

}   // namespace kedge::engine
