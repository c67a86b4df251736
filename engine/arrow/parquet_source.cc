// Parquet: each row group in blocks of columns, a few thousand rows at a time.
#include <arrow/io/memory.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <utility>

#include "engine/arrow/arrow_checks.h"
#include "engine/arrow/table_source.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr std::int64_t kBatchRows = std::int64_t{1} << 16;
constexpr std::size_t kBlockColumns = 16;   // of float32 a line of the cache

// Texts that are written as their differences, which the library does not decode into a dictionary.
bool has_deltas(const parquet::FileMetaData& file, int leaf) {
  for (int g = 0; g < file.num_row_groups(); ++g) {
    const auto group = file.RowGroup(g);
    const auto chunk = group->ColumnChunk(leaf);   // its list lives no longer than it does
    for (const parquet::Encoding::type encoding : chunk->encodings())
      if (encoding == parquet::Encoding::DELTA_BYTE_ARRAY || encoding == parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY)
        return true;
  }
  return false;
}

class ParquetTable final : public TableSource {
 public:
  explicit ParquetTable(std::string_view file) : file_(file) {
    const auto first = open_file(nullptr);
    metadata_ = first->parquet_reader()->metadata();
    checked(first->GetSchema(&schema_));
    for (const auto& field : first->manifest().schema_fields) leaves_.push_back(field.column_index);
    for (int g = 0; g < metadata_->num_row_groups(); ++g) {
      const std::int64_t rows = metadata_->RowGroup(g)->num_rows();
      require(rows >= 0 && rows <= metadata_->num_rows() - n_rows_, ErrorCode::kDatasetCorrupt,
              "row group {} has {} rows of {}", g, rows, metadata_->num_rows());
      first_rows_.push_back(n_rows_);
      n_rows_ += rows;
    }
    require(n_rows_ == metadata_->num_rows(), ErrorCode::kDatasetCorrupt,
            "its row groups have {} rows, its end says {}", n_rows_, metadata_->num_rows());
  }

  const arrow::Schema& schema() const override { return *schema_; }
  std::int64_t n_rows() const override { return n_rows_; }

  std::int64_t bytes(const std::vector<int>& fields) const override {
    std::int64_t total = 0;
    for (int g = 0; g < metadata_->num_row_groups(); ++g) {
      const auto group = metadata_->RowGroup(g);
      for (const int field : fields) {
        const int leaf = leaves_[static_cast<std::size_t>(field)];
        if (leaf >= 0) total += group->ColumnChunk(leaf)->total_compressed_size();
      }
    }
    return total;
  }

  std::vector<TablePart> parts(const std::vector<int>& fields) const override {
    std::vector<TablePart> parts;
    for (std::size_t g = 0; g < first_rows_.size(); ++g) {
      const std::int64_t end = g + 1 < first_rows_.size() ? first_rows_[g + 1] : n_rows_;
      for (std::size_t c = 0; c < fields.size(); c += kBlockColumns) {
        const auto begin = fields.begin() + static_cast<std::ptrdiff_t>(c);
        const auto count = static_cast<std::ptrdiff_t>(std::min(kBlockColumns, fields.size() - c));
        parts.push_back({static_cast<int>(g), first_rows_[g], end - first_rows_[g], {begin, begin + count}});
      }
    }
    return parts;
  }

  std::unique_ptr<Reader> reader() const override { return std::make_unique<GroupReader>(*this); }

 private:
  class GroupReader final : public Reader {
   public:
    explicit GroupReader(const ParquetTable& table) : table_(table), file_(table.open_file(table.metadata_)) {}

    void read(const TablePart& part, const Take& take) override {
      std::vector<int> leaves;
      for (const int field : part.fields) leaves.push_back(table_.leaves_[static_cast<std::size_t>(field)]);
      const auto batches = checked(file_->GetRecordBatchReader({part.group}, leaves));
      std::int64_t row = 0;
      for (auto batch = checked(batches->Next()); batch; batch = checked(batches->Next())) {
        const bool fits =
            batch->num_rows() <= part.n_rows - row && batch->num_columns() == static_cast<int>(leaves.size());
        require(fits, ErrorCode::kDatasetCorrupt, "row group {} has more rows than it says", part.group);
        take(row, batch->columns());
        row += batch->num_rows();
      }
      require(row == part.n_rows, ErrorCode::kDatasetCorrupt, "row group {} has {} rows, it says {}", part.group, row,
              part.n_rows);
    }

   private:
    const ParquetTable& table_;
    std::unique_ptr<parquet::arrow::FileReader> file_;
  };

  std::unique_ptr<parquet::arrow::FileReader> open_file(std::shared_ptr<parquet::FileMetaData> metadata) const {
    arrow::MemoryPool* const pool = arrow::system_memory_pool();
    auto bytes = std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(file_));
    auto reader = parquet::ParquetFileReader::Open(bytes, parquet::ReaderProperties(pool), std::move(metadata));
    parquet::ArrowReaderProperties properties(false);
    properties.set_batch_size(kBatchRows);
    properties.set_pre_buffer(false);
    const parquet::SchemaDescriptor& leaves = *reader->metadata()->schema();
    for (int i = 0; i < leaves.num_columns(); ++i)
      if (leaves.Column(i)->physical_type() == parquet::Type::BYTE_ARRAY && !has_deltas(*reader->metadata(), i))
        properties.set_read_dictionary(i, true);
    return checked(parquet::arrow::FileReader::Make(pool, std::move(reader), properties));
  }

  const std::string_view file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int> leaves_;                // of each field of the schema; -1: it is nested
  std::vector<std::int64_t> first_rows_;   // of each row group
  std::int64_t n_rows_ = 0;
};

}   // namespace

std::unique_ptr<TableSource> open_parquet(std::string_view file) {
  return std::make_unique<ParquetTable>(file);
}

}   // namespace kedge::engine
