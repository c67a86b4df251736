// Writes the table of a data set as an Arrow IPC file or stream, or as Parquet.
#pragma once

#include <span>
#include <string_view>

#include "engine/arrow/channel.h"
#include "engine/core/dataset_file.h"

namespace kedge::engine {

// Borrows everything. Values are row-major; one of the two is filled, as meta.is_float32 says.
struct TableToWrite {
  const DatasetMeta& meta;
  std::string_view is_whole;   // a byte for each column of meta, 1: its numbers become 64-bit integers
  std::span<const float> values_f32;
  std::span<const double> values_f64;
};

// Numbers become columns of float32 or float64 as they are stored, or of int64; nominal columns dictionaries of texts,
// coded by int32. A NaN becomes a null. Columns that hold no values (ColumnInfo::Type::kString) are left out. `file` is
// an open descriptor at its begin, which is not closed. One batch of at most 16 MiB is in memory, for Parquet the
// encoded columns of a row group of at most 64 MiB, too. The same table gives the same bytes. Errors: kDatasetCorrupt
// for values that do not fit the description; kOutOfMemory; kStorageFull and kUnavailable of the disk.
void write_table(const TableToWrite& table, ArrowForm form, int file);

}   // namespace kedge::engine
