// Two passes over a text of sparse rows: one counts, one writes each piece's entries straight to their place
// in the mapped file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/core/dataset_file.h"
#include "server/data/parse.h"

namespace kedge::server {

// Columns that a row names before their place is known.
inline constexpr std::int32_t kLabelColumn = std::numeric_limits<std::int32_t>::max(),
                              kGroupColumn = kLabelColumn - 1;

// The entries of one row that are not 0, columns ascending.
struct SparseRow {
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  std::int32_t least = kLabelColumn,
               most = -1;  // of the columns named that are neither label nor group, zeros as well

  void clear() { columns.clear(), values.clear(), least = kLabelColumn, most = -1; }
  void add(std::int32_t column, double value) {
    if (column < kGroupColumn) least = std::min(least, column), most = std::max(most, column);
    if (value != 0) columns.push_back(column), values.push_back(value);
  }
};

// Where they go: label and group at the end, all others `first` places to the left.
struct SparsePlaces {
  std::int32_t first = 0, group = 0, label = 0;
  std::int32_t of(std::int32_t column) const {
    return column == kLabelColumn ? label : (column == kGroupColumn ? group : column - first);
  }
};

struct SparseCounts {
  std::int64_t n_rows = 0, n_entries = 0;
  std::int32_t least = kLabelColumn, most = -1;  // as in SparseRow
  bool is_exact = true;                          // in float32
  void add(const SparseRow& row);
  void add(const SparseCounts& other);
};

// Reads rows of one piece of the text; made for each piece and pass. Errors of read: CellError.
class SparseReader {
 public:
  virtual ~SparseReader() = default;
  virtual bool is_row(const char* p, const char* end) const = 0;
  virtual void read(const char* p, const char* end, SparseRow& row) = 0;
};
using MakeReader = std::function<std::unique_ptr<SparseReader>(std::size_t chunk)>;

// Borrows text and request. Errors: as the parsers of parse.h.
class SparseText {
 public:
  SparseText(std::string_view text, const ParseRequest& request);
  std::size_t n_chunks() const { return chunks_.size(); }
  // Reads all rows.
  SparseCounts count(const MakeReader& make);
  // Reads them again. Values are stored sparse, or dense where more than a quarter of them are there: a dense
  // table is then smaller, or little larger, and everything takes it.
  engine::DatasetMeta write(const MakeReader& make, engine::DatasetMeta meta, const SparseCounts& counts,
                            const SparsePlaces& places);

 private:
  void read_chunk(std::size_t i, const MakeReader& make,
                  const std::function<void(const SparseRow&)>& row) const;

  const std::string_view text_;
  const ParseRequest& request_;
  std::vector<TextChunk> chunks_;
  std::vector<SparseCounts> by_chunk_;
};

}  // namespace kedge::server
