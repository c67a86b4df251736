// A parsed data set on disk: written once, then memory-mapped read-only by every worker that needs it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/core/cell_map.h"

namespace kedge::engine {

// One column as the source declares it. Numeric columns lie in the matrix; others only in `names` and in the target.
struct ColumnInfo {
  enum class Type { kNumeric, kNominal, kString };
  std::string name;
  Type type = Type::kNumeric;
  std::vector<std::string> categories;   // of a nominal column, in declared order
  std::int64_t missing = 0;              // number of missing cells
  std::int64_t values_column = -1;       // where it is in the values; -1: only as text that is not stored (kString)
  // Set for a job alone (typed_meta), never in a file: how its values are read, the type that the job gave it, and the column of
  // the file that it was made of, where that has another name.
  CellMapRef cells = {};
  std::string type_name = {}, source = {};
  friend bool operator==(const ColumnInfo&, const ColumnInfo&) = default;
};

// Numeric columns that are named by number, from `first` on, and lie at the begin of the values: so many cost nothing.
struct IndexedColumns {
  std::int64_t first = 0, count = 0;
  friend bool operator==(const IndexedColumns&, const IndexedColumns&) = default;
};

struct DatasetMeta {
  std::string name;                     // for messages: "openml mnist_784 version 1"
  std::int64_t n_rows = 0;
  bool is_float32 = false;              // values are float32 (every number is exact in it), otherwise float64
  std::vector<ColumnInfo> columns;      // in source order, target included
  std::int64_t n_values_columns = 0;    // columns of the value matrix
  std::int64_t n_entries = -1;          // of a sparse value matrix, what is stored of it; -1: it is dense
  std::string target;                   // default target column; empty: none
  std::vector<std::string> ignored;     // columns the source says to leave out (row ids)
  IndexedColumns indexed = {};          // come before `columns`, which has the others
  bool types_are_guessed = false;       // from the cells, as of CSV; otherwise the source declares them
  bool is_sparse() const { return n_entries >= 0; }
  std::int64_t n_columns() const { return indexed.count + static_cast<std::int64_t>(columns.size()); }
  bool has_column(std::string_view name) const;
  // Turns the indexed columns into ones with names, about 100 bytes each.
  void name_columns();
  friend bool operator==(const DatasetMeta&, const DatasetMeta&) = default;
};

// A sparse value matrix by rows: the entries of row i lie at offsets[i] .. offsets[i + 1] - 1, columns ascending; the rest is 0.
template <class T>
struct SparseSpans {
  template <class U>
  using Like = std::conditional_t<std::is_const_v<T>, const U, U>;
  std::span<Like<std::int64_t>> offsets;   // n_rows + 1
  std::span<Like<std::int32_t>> columns;
  std::span<T> values;
};

// Read side: maps the file. Values are row-major n_rows x n_values_columns, or sparse; a nominal cell is its category's code; a missing
// cell is NaN. Up to kNamedAtOnce indexed columns have their names in meta(). Immutable, so any number of threads may read. Errors: kDatasetCorrupt when the header or size is wrong.
class DatasetFile {
 public:
  explicit DatasetFile(const std::filesystem::path& path);
  ~DatasetFile();
  DatasetFile(DatasetFile&&) noexcept;

  const DatasetMeta& meta() const;
  static constexpr std::int64_t kNamedAtOnce = 4096;
  // Not while others read: names the data, for messages, and all indexed columns.
  void set_name(std::string name);
  void name_columns();
  bool values_are_whole() const;   // by their checksum; reads the whole file
  std::span<const float> values_f32() const;    // empty unless meta().is_float32
  std::span<const double> values_f64() const;   // empty if meta().is_float32
  SparseSpans<const float> sparse_f32() const;  // of a sparse file, for which the two above are empty. Its offsets and columns are not
  SparseSpans<const double> sparse_f64() const; // checked: a damaged file may hold any
  // Of the first n_rows rows, as double. Errors: kDatasetCorrupt.
  std::vector<double> column(std::int64_t values_column, std::int64_t n_rows) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Write side: creates `path`.part sized for the values (its blocks are reserved, so that a full disk is an error here and no
// signal later) and maps it writable, all zero. Fill values, complete meta(), then finish() writes the metadata, flushes the
// file (fsync) and renames it to `path`. Without finish() nothing is left behind. Errors: kInternal with the system's words.
class DatasetFileWriter {
 public:
  DatasetFileWriter(const std::filesystem::path& path, const DatasetMeta& meta);
  ~DatasetFileWriter();
  DatasetFileWriter(DatasetFileWriter&&) noexcept;

  // What finish() writes. Its n_rows, n_values_columns, n_entries and is_float32 fix the size and must stay as they were.
  DatasetMeta& meta();
  std::span<float> values_f32();     // empty unless meta().is_float32
  std::span<double> values_f64();
  SparseSpans<float> sparse_f32();   // of a sparse file, for which the two above are empty; offsets[0] is 0 already
  SparseSpans<double> sparse_f64();
  // Tells the system that these rows are complete, so that it may write them to disk while others are filled. Thread safe.
  void rows_done(std::int64_t first_row, std::int64_t n_rows);
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// kInOrder: each write continues where the last one ended. A large file is then read once, and bypasses the page cache.
enum class RowOrder { kAny, kInOrder };

// Write side for rows that come in pieces. As DatasetFileWriter, but without a mapping: a full disk is an error of the write.
class DatasetRowsWriter {
 public:
  // meta.n_rows matters at the end only; before, it says how large a file in order will be.
  DatasetRowsWriter(const std::filesystem::path& path, const DatasetMeta& meta, RowOrder order = RowOrder::kAny);
  ~DatasetRowsWriter();
  DatasetRowsWriter(const DatasetRowsWriter&) = delete;

  // What finish() writes. n_values_columns must stay as it was; is_float32 is changed by widen(); n_rows is set before finish().
  DatasetMeta& meta();
  // Whole rows, in the type that meta() says. Thread safe for rows of different places, which come in any order.
  void write(std::int64_t first_row, std::span<const float> values);
  void write(std::int64_t first_row, std::span<const double> values);
  void write_bytes(std::int64_t first_row, std::string_view bytes);   // the same, as they lie in memory
  // Turns the first n_rows rows from float32 to float64; no other call meanwhile, and not in order.
  void widen(std::int64_t n_rows);
  void finish();   // every row below meta().n_rows has been written

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kedge::engine
