// What a search of nearest neighbours says, to be compared whole.
#pragma once

#include <cstdint>
#include <vector>

namespace kedge::engine {

template <class T>
struct NearestAnswer {   // row-major, k for each query
  std::vector<std::int32_t> indices;
  std::vector<T> squared;
  friend bool operator==(const NearestAnswer&, const NearestAnswer&) = default;
};

}  // namespace kedge::engine
