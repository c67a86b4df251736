// Some elements of a vector, in the order of a list of their positions.
#pragma once

#include <cstddef>
#include <vector>

namespace kedge::engine {

// values[position] for each position; none where there are no values. Positions: whole numbers below values.size().
template <class V>
std::vector<V> chosen(const std::vector<V>& values, const auto& positions) {
  std::vector<V> result;
  if (values.empty()) return result;
  result.reserve(positions.size());
  for (const auto position : positions) result.push_back(values[static_cast<std::size_t>(position)]);
  return result;
}

}   // namespace kedge::engine
