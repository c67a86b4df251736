// The table of a rank that reads its own rows: the others are not loaded.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/comm/ranks.h"
#include "engine/table/selection.h"

namespace kedge::engine {

// Whether ranks can load the rows of this selection apart: enough dense rows that are converted cell by cell, for a
// device that computes in the memory of the host.
bool can_load_own_rows(bool is_host, const Selection& selection, const DatasetMeta& meta);

// Bytes of the table that a rank loads: own_rows() of dealt_blocks.h.
std::int64_t own_rows_bytes(const Ranks& ranks, const Selection& selection);

// A table of all rows of which this rank has its own. The others have an address, and come from the data file, in
// pieces of at least 64 KiB, when something reads them (DemandMemory): it is as good as a whole table, and smaller.
template <class T>
class OwnRows {
 public:
  // Collective. Errors, the same on every rank: those of load_table(), for the whole table.
  static std::shared_ptr<const OwnRows> load(const Context& ctx, const Selection& selection, const DatasetFile& data,
                                             Ranks& ranks);
  virtual ~OwnRows() = default;

  // Borrows the data file, and shares this object.
  virtual std::shared_ptr<Table<T>> table() const = 0;
  // Bytes of it that are in memory now.
  virtual std::int64_t held() const = 0;
};

}   // namespace kedge::engine
