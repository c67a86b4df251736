// Arrow IPC (Feather version 2): a file's batches by their number, a stream's after each other.
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>

#include <numeric>
#include <utility>

#include "engine/arrow/arrow_checks.h"
#include "engine/arrow/table_source.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using Batch = std::shared_ptr<arrow::RecordBatch>;

constexpr std::string_view kFileMagic = "ARROW1", kParquetMagic = "PAR1", kStreamMagic = "\xFF\xFF\xFF\xFF";

arrow::ipc::IpcReadOptions read_options(std::vector<int> fields = {}) {
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = arrow::system_memory_pool();
  options.use_threads = false;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;   // a file may say any offset
  options.included_fields = std::move(fields);
  return options;
}

std::shared_ptr<arrow::io::BufferReader> opened(std::string_view file) {
  return std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(file));
}

std::shared_ptr<arrow::ipc::RecordBatchFileReader> open_batches(std::string_view file, std::vector<int> fields = {}) {
  return checked(arrow::ipc::RecordBatchFileReader::Open(opened(file), read_options(std::move(fields))));
}

// All that a batch has lies together, and is read together.
std::int64_t share_of_bytes(std::string_view file, const std::vector<int>& fields) {
  return fields.empty() ? 0 : static_cast<std::int64_t>(file.size());
}

// The fields of the part, which are `columns` of the batch. The bytes are as they were sent: offsets and dictionaries
// are checked before anything follows them.
void give(const arrow::RecordBatch& batch, const TablePart& part, const std::vector<int>& columns,
          const TableSource::Reader::Take& take) {
  require(batch.num_rows() == part.n_rows, ErrorCode::kDatasetCorrupt, "batch {} has {} rows, it says {}", part.group,
          batch.num_rows(), part.n_rows);
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const int column : columns) {
    arrays.push_back(batch.column(column));
    checked(arrays.back()->ValidateFull());
  }
  take(0, arrays);
}

// Batches whose rows are counted.
class Batches {
 public:
  void add(std::int64_t rows) {
    require(rows >= 0, ErrorCode::kDatasetCorrupt, "batch {} has {} rows", first_rows_.size(), rows);
    first_rows_.push_back(n_rows_);
    n_rows_ += rows;
  }
  std::int64_t n_rows() const { return n_rows_; }
  std::vector<TablePart> parts(const std::vector<int>& fields) const {
    std::vector<TablePart> parts;
    for (std::size_t b = 0; b < first_rows_.size(); ++b) {
      const std::int64_t end = b + 1 < first_rows_.size() ? first_rows_[b + 1] : n_rows_;
      parts.push_back({static_cast<int>(b), first_rows_[b], end - first_rows_[b], fields});
    }
    return parts;
  }

 private:
  std::vector<std::int64_t> first_rows_;
  std::int64_t n_rows_ = 0;
};

class IpcFile final : public TableSource {
 public:
  explicit IpcFile(std::string_view file) : file_(file) {
    schema_ = open_batches(file)->schema();
    if (schema_->num_fields() == 0) return;
    const auto counted = open_batches(file, {0});   // one column alone is read for the number of rows
    for (int b = 0; b < counted->num_record_batches(); ++b)
      batches_.add(checked(counted->ReadRecordBatch(b))->num_rows());
  }
  const arrow::Schema& schema() const override { return *schema_; }
  std::int64_t n_rows() const override { return batches_.n_rows(); }
  std::int64_t bytes(const std::vector<int>& fields) const override { return share_of_bytes(file_, fields); }
  std::vector<TablePart> parts(const std::vector<int>& fields) const override { return batches_.parts(fields); }
  std::unique_ptr<Reader> reader() const override { return std::make_unique<FileReader>(file_); }

 private:
  class FileReader final : public Reader {
   public:
    explicit FileReader(std::string_view file) : file_(file) {}
    // The parts of a file have the same fields, in the order of the schema. Others are not unpacked.
    void read(const TablePart& part, const Take& take) override {
      if (!batches_) {
        batches_ = open_batches(file_, part.fields);
        columns_.resize(part.fields.size());
        std::iota(columns_.begin(), columns_.end(), 0);
      }
      const Batch batch = checked(batches_->ReadRecordBatch(part.group));
      give(*batch, part, columns_, take);
    }

   private:
    const std::string_view file_;
    std::vector<int> columns_;
    std::shared_ptr<arrow::ipc::RecordBatchFileReader> batches_;
  };

  const std::string_view file_;
  std::shared_ptr<arrow::Schema> schema_;
  Batches batches_;
};

// Its batches lie in the file's bytes, or in memory where they are compressed.
class IpcStream final : public TableSource {
 public:
  explicit IpcStream(std::string_view file) : file_(file) {
    const auto stream = checked(arrow::ipc::RecordBatchStreamReader::Open(opened(file), read_options()));
    schema_ = stream->schema();
    for (Batch batch = checked(stream->Next()); batch; batch = checked(stream->Next())) {
      batches_.add(batch->num_rows());
      read_.push_back(std::move(batch));
    }
  }
  const arrow::Schema& schema() const override { return *schema_; }
  std::int64_t n_rows() const override { return batches_.n_rows(); }
  std::int64_t bytes(const std::vector<int>& fields) const override { return share_of_bytes(file_, fields); }
  std::vector<TablePart> parts(const std::vector<int>& fields) const override { return batches_.parts(fields); }
  std::unique_ptr<Reader> reader() const override { return std::make_unique<StreamReader>(read_); }

 private:
  class StreamReader final : public Reader {
   public:
    explicit StreamReader(const std::vector<Batch>& batches) : batches_(batches) {}
    void read(const TablePart& part, const Take& take) override {
      give(*batches_[static_cast<std::size_t>(part.group)], part, part.fields, take);
    }

   private:
    const std::vector<Batch>& batches_;
  };

  const std::string_view file_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<Batch> read_;
  Batches batches_;
};

}   // namespace

std::unique_ptr<TableSource> open_arrow(std::string_view file) {
  if (file.starts_with(kFileMagic)) return std::make_unique<IpcFile>(file);
  require(file.starts_with(kStreamMagic), ErrorCode::kDatasetCorrupt, "it begins neither as Parquet nor as Arrow");
  return std::make_unique<IpcStream>(file);
}

std::unique_ptr<TableSource> open_table(std::string_view file) {
  return file.starts_with(kParquetMagic) ? open_parquet(file) : open_arrow(file);
}

}   // namespace kedge::engine
