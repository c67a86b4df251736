// A binned table's further forms for the CPU: row-major codes, and records of what is off the common bins.
#pragma once

#include "engine/backend/host/huge_pages.h"
#include "engine/backend/ops/trees.h"

namespace kedge::engine {

template <class U>
Array<U> large_array(Memory& memory, std::int64_t size) {
  Array<U> array(memory, size);
  advise_huge_pages(array.data(), size * static_cast<std::int64_t>(sizeof(U)));
  return array;
}

// Fills the members of a table with `codes` that are the CPU body's own.
void add_row_forms(BinnedTable& table, Memory& memory, int n_threads);

}  // namespace kedge::engine
