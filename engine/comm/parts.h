// Sizes of the parts that ranks bring, for bodies whose library has to know them beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/comm/comm.h"

namespace kedge::engine {

template <class T>
std::int64_t length(std::span<T> values) {
  return static_cast<std::int64_t>(values.size());
}

inline std::vector<std::int64_t> sizes_in(const PartedBytes& parts) {
  std::vector<std::int64_t> sizes;
  for (int r = 0; r < parts.size(); ++r) sizes.push_back(length(parts.part(r)));
  return sizes;
}

inline PartedBytes room_for(const std::vector<std::int64_t>& sizes) {
  PartedBytes parts;
  for (const std::int64_t size : sizes) parts.offsets.push_back(parts.offsets.back() + size);
  parts.bytes.resize(static_cast<std::size_t>(parts.offsets.back()));
  return parts;
}

// Collective: what each rank says, by rank.
inline std::vector<std::int64_t> sizes_of_all(Comm& comm, std::int64_t mine) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(comm.size()));
  sizes[static_cast<std::size_t>(comm.rank())] = mine;
  comm.all_reduce(sizes, IntegerOp::kSum);
  return sizes;
}

// Collective: how many bytes each rank sends to each other one, a row for each sender.
inline std::vector<std::int64_t> size_table(Comm& comm, const PartedBytes& out) {
  const auto n = static_cast<std::size_t>(comm.size());
  std::vector<std::int64_t> table(n * n);
  const std::vector<std::int64_t> own = sizes_in(out);
  for (std::size_t to = 0; to < n; ++to) table[static_cast<std::size_t>(comm.rank()) * n + to] = own[to];
  comm.all_reduce(table, IntegerOp::kSum);
  return table;
}

}   // namespace kedge::engine
