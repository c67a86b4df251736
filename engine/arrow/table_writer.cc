// Columns are gathered from the rows of a batch a few rows at a time, so that each line of the matrix is read once.
#include "engine/arrow/table_writer.h"

#include <arrow/api.h>
#include <arrow/io/buffered.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/arrow/arrow_checks.h"
#include "engine/core/disk_error.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;
using Type = ColumnInfo::Type;

constexpr std::int64_t kBatchBytes = std::int64_t{16} << 20, kMostBatchRows = std::int64_t{1} << 16;
constexpr std::int64_t kGroupBytes = std::int64_t{64} << 20, kMostGroupRows = std::int64_t{1} << 20;
constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kBufferBytes = std::int64_t{1} << 20;
constexpr double kLargestExact = 9007199254740992.0;   // 2^53

arrow::MemoryPool* pool() {
  return arrow::system_memory_pool();
}

// The descriptor that kedged sent, and why it could not be written.
class FileSink final : public arrow::io::OutputStream {
 public:
  explicit FileSink(int file) : file_(file) {}

  arrow::Status Write(const void* data, std::int64_t size) override {
    const char* from = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t n = ::write(file_, from, static_cast<std::size_t>(size));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        error_ = errno;
        return arrow::Status::IOError(std::strerror(error_));
      }
      from += n, size -= n, place_ += n;
    }
    return arrow::Status::OK();
  }
  arrow::Status Close() override {
    is_closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return place_; }
  bool closed() const override { return is_closed_; }
  int error() const { return error_; }   // errno; 0: none

 private:
  const int file_;
  int error_ = 0;
  std::int64_t place_ = 0;
  bool is_closed_ = false;
};

// One column of the batch that is gathered.
template <class T>
class Column {
 public:
  Column(const ColumnInfo& info, bool is_whole) : info_(info), is_whole_(is_whole) {
    if (info.type == Type::kNominal) make_dictionary();
    if (dictionary_) builder_ = std::make_unique<arrow::Int32Builder>(pool());
    else if (is_whole) builder_ = std::make_unique<arrow::Int64Builder>(pool());
    else builder_ = std::make_unique<Floats>(pool());
  }

  std::shared_ptr<arrow::Field> field() const {
    return arrow::field(info_.name, dictionary_ ? arrow::dictionary(arrow::int32(), arrow::utf8()) : builder_->type());
  }
  bool is_dictionary() const { return dictionary_ != nullptr; }

  void begin(std::int64_t n_rows) { checked(builder_->Reserve(n_rows)); }

  // Cells are `stride` apart, the first at `row`, where the rows of the table begin.
  void append(const T* row, std::int64_t stride, std::int64_t n_rows) {
    const T* const cell = row + info_.values_column;
    if (dictionary_) append_as<arrow::Int32Builder>(cell, stride, n_rows, [this](T value) { return code(value); });
    else if (is_whole_) append_as<arrow::Int64Builder>(cell, stride, n_rows, [this](T value) { return whole(value); });
    else append_as<Floats>(cell, stride, n_rows, [](T value) { return value; });
  }

  std::shared_ptr<arrow::Array> finish() {
    const auto array = checked(builder_->Finish());
    return dictionary_ ? checked(arrow::DictionaryArray::FromArrays(field()->type(), array, dictionary_)) : array;
  }

 private:
  using Floats = std::conditional_t<std::is_same_v<T, float>, arrow::FloatBuilder, arrow::DoubleBuilder>;

  void make_dictionary() {
    arrow::StringBuilder texts(pool());
    for (const std::string& category : info_.categories) checked(texts.Append(category));
    dictionary_ = checked(texts.Finish());
  }

  template <class Builder, class Convert>
  void append_as(const T* cell, std::int64_t stride, std::int64_t n_rows, const Convert& convert) {
    auto& builder = static_cast<Builder&>(*builder_);
    for (std::int64_t i = 0; i < n_rows; ++i, cell += stride) {
      if (*cell == *cell) builder.UnsafeAppend(convert(*cell));
      else builder.UnsafeAppendNull();
    }
  }

  std::int32_t code(T value) const {
    const bool is_one = value >= 0 && value < static_cast<T>(info_.categories.size()) && value == std::floor(value);
    require(is_one, ErrorCode::kDatasetCorrupt, "column '{}': {} is not the code of one of its {} categories",
            info_.name, value, info_.categories.size());
    return static_cast<std::int32_t>(value);
  }

  std::int64_t whole(T value) const {
    require(std::abs(value) <= kLargestExact && value == std::floor(value), ErrorCode::kDatasetCorrupt,
            "column '{}': {} is not an integer", info_.name, value);
    return static_cast<std::int64_t>(value);
  }

  const ColumnInfo& info_;
  const bool is_whole_;
  std::shared_ptr<arrow::Array> dictionary_;   // of a nominal column
  std::unique_ptr<arrow::ArrayBuilder> builder_;
};

// Takes batches in the order of their rows.
class BatchWriter {
 public:
  virtual ~BatchWriter() = default;
  virtual void write(const arrow::RecordBatch& batch) = 0;
  virtual void close() = 0;
};

class IpcWriter final : public BatchWriter {
 public:
  IpcWriter(arrow::io::OutputStream* sink, const std::shared_ptr<arrow::Schema>& schema, bool is_file) {
    arrow::ipc::IpcWriteOptions options = arrow::ipc::IpcWriteOptions::Defaults();
    options.memory_pool = pool();
    options.use_threads = false;
    writer_ = checked(is_file ? arrow::ipc::MakeFileWriter(sink, schema, options)
                              : arrow::ipc::MakeStreamWriter(sink, schema, options));
  }
  void write(const arrow::RecordBatch& batch) override { checked(writer_->WriteRecordBatch(batch)); }
  void close() override { checked(writer_->Close()); }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

// Only texts get dictionaries: those of numbers, which seldom repeat, would cost each column of a wide table memory.
class ParquetWriter final : public BatchWriter {
 public:
  ParquetWriter(std::shared_ptr<arrow::io::OutputStream> sink, const arrow::Schema& schema, std::int64_t row_bytes) {
    using arrow::Compression;
    const bool has_zstd = arrow::util::Codec::IsAvailable(Compression::ZSTD);
    parquet::WriterProperties::Builder properties;
    properties.memory_pool(pool())->compression(has_zstd ? Compression::ZSTD : Compression::SNAPPY);
    properties.max_row_group_length(std::clamp(kGroupBytes / row_bytes, std::int64_t{1}, kMostGroupRows));
    properties.disable_dictionary();
    for (const auto& field : schema.fields())
      if (field->type()->id() == arrow::Type::DICTIONARY) properties.enable_dictionary(field->name());
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    writer_ = checked(
        parquet::arrow::FileWriter::Open(schema, pool(), std::move(sink), properties.build(), arrow_properties));
  }
  void write(const arrow::RecordBatch& batch) override { checked(writer_->WriteRecordBatch(batch)); }
  void close() override { checked(writer_->Close()); }

 private:
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

template <class T>
class TableWriter {
 public:
  TableWriter(const TableToWrite& table, std::span<const T> values) : meta_(table.meta), values_(values) {
    require(table.is_whole.size() == meta_.columns.size(), ErrorCode::kInternal, "{} columns are described, {} are not",
            table.is_whole.size(), meta_.columns.size());
    for (std::size_t c = 0; c < meta_.columns.size(); ++c) {
      const ColumnInfo& info = meta_.columns[c];
      if (info.values_column < 0) continue;
      require(info.values_column < meta_.n_values_columns, ErrorCode::kDatasetCorrupt,
              "column '{}' is column {} of {} of the values", info.name, info.values_column, meta_.n_values_columns);
      columns_.push_back(std::make_unique<Column<T>>(info, table.is_whole[c] != 0));
      fields_.push_back(columns_.back()->field());
    }
    const auto most = static_cast<std::int64_t>(values_.size());
    const bool fits = meta_.n_rows >= 0 && meta_.n_values_columns > 0 && meta_.n_rows <= most / meta_.n_values_columns;
    require(fits, ErrorCode::kDatasetCorrupt, "{} rows of {} columns are more than its {} values", meta_.n_rows,
            meta_.n_values_columns, most);
  }

  std::shared_ptr<arrow::Schema> schema() const { return arrow::schema(fields_); }
  std::int64_t row_bytes() const { return meta_.n_values_columns * std::int64_t{sizeof(T)}; }

  void write(BatchWriter& to) {
    const auto schema = this->schema();
    const std::int64_t batch_rows = std::clamp(kBatchBytes / row_bytes(), std::int64_t{1}, kMostBatchRows);
    for (std::int64_t begin = 0; begin < meta_.n_rows; begin += batch_rows) {
      const std::int64_t n_rows = std::min(batch_rows, meta_.n_rows - begin);
      gather(begin, n_rows);
      std::vector<std::shared_ptr<arrow::Array>> arrays;
      for (const auto& column : columns_) arrays.push_back(column->finish());
      to.write(*arrow::RecordBatch::Make(schema, n_rows, std::move(arrays)));
    }
    to.close();
  }

 private:
  void gather(std::int64_t begin, std::int64_t n_rows) {
    for (const auto& column : columns_) column->begin(n_rows);
    const std::int64_t width = meta_.n_values_columns;
    for (std::int64_t row = 0; row < n_rows; row += kTileRows)
      for (const auto& column : columns_)
        column->append(values_.data() + (begin + row) * width, width, std::min(kTileRows, n_rows - row));
  }

  const DatasetMeta& meta_;
  const std::span<const T> values_;
  std::vector<std::unique_ptr<Column<T>>> columns_;
  std::vector<std::shared_ptr<arrow::Field>> fields_;
};

template <class T>
void write_values(const TableToWrite& table, std::span<const T> values, ArrowForm form,
                  const std::shared_ptr<arrow::io::OutputStream>& sink) {
  TableWriter<T> writer(table, values);
  std::unique_ptr<BatchWriter> batches;
  if (form == ArrowForm::kParquet)
    batches = std::make_unique<ParquetWriter>(sink, *writer.schema(), writer.row_bytes());
  else batches = std::make_unique<IpcWriter>(sink.get(), writer.schema(), form == ArrowForm::kFile);
  writer.write(*batches);
}

}   // namespace

void write_table(const TableToWrite& table, ArrowForm form, int file) {
  const auto sink = std::make_shared<FileSink>(file);   // shared with Arrow's buffer
  try {
    const auto buffered = checked(arrow::io::BufferedOutputStream::Create(kBufferBytes, pool(), sink));
    if (table.meta.is_float32) write_values(table, table.values_f32, form, buffered);
    else write_values(table, table.values_f64, form, buffered);
    checked(buffered->Close());
  } catch (const std::exception&) {
    if (sink->error() == 0) throw;
    throw schema::Error(disk_error(sink->error()),
                        fmt::format("the answer cannot be written: {}", std::strerror(sink->error())));
  }
}

}   // namespace kedge::engine
