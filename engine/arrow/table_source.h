// A Parquet or Arrow file as parts that threads read independently of each other.
#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kedge::engine {

// Some columns of some rows.
struct TablePart {
  int group = 0;   // row group or record batch
  std::int64_t first_row = 0, n_rows = 0;
  std::vector<int> fields;   // of the schema
};

// Immutable; a Reader is for one thread. Borrows the file's bytes. Errors: schema::Error, and what Arrow throws.
class TableSource {
 public:
  class Reader {
   public:
    // arrays[i] is part.fields[i], from this row of the part on.
    using Take = std::function<void(std::int64_t row, std::span<const std::shared_ptr<arrow::Array>> arrays)>;
    virtual ~Reader() = default;
    virtual void read(const TablePart& part, const Take& take) = 0;
  };

  virtual ~TableSource() = default;
  virtual const arrow::Schema& schema() const = 0;
  virtual std::int64_t n_rows() const = 0;
  // Bytes of the file that hold the values of these fields, packed as they are.
  virtual std::int64_t bytes(const std::vector<int>& fields) const = 0;
  // All rows of these fields.
  virtual std::vector<TablePart> parts(const std::vector<int>& fields) const = 0;
  virtual std::unique_ptr<Reader> reader() const = 0;
};

std::unique_ptr<TableSource> open_parquet(std::string_view file);
std::unique_ptr<TableSource> open_arrow(std::string_view file);   // IPC, as a file or as a stream
// By the first bytes.
std::unique_ptr<TableSource> open_table(std::string_view file);

}   // namespace kedge::engine
