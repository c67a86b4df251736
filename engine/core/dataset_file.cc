// The data set file: a 4096-byte head, the values, then the metadata in a small binary form of its own.
#include "engine/core/dataset_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "engine/core/block_hashes.h"
#include "engine/core/content_hash.h"
#include "engine/core/dataset_layout.h"
#include "engine/core/dataset_meta_codec.h"
#include "engine/core/disk_error.h"
#include "engine/core/file_output.h"
#include "engine/core/lent_file.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr char kMagic[8] = {'K', 'E', 'D', 'G', 'E', 'D', 'S', '\n'};
constexpr std::uint32_t kVersion = 4;
constexpr std::uint32_t kByteOrder = 0x01020304;   // read as another number on a machine of the other byte order

// The values come before the metadata because categories and missing counts are known only when all values are.
struct Head {
  char magic[8];
  std::uint32_t version, byte_order;
  std::int64_t values_offset, values_bytes, meta_bytes;
  std::uint64_t meta_hash, values_hash;
};

class Descriptor {   // owns a file descriptor
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

class Mapping {   // owns a mapping of a file's first `bytes` bytes
 public:
  Mapping(int fd, std::int64_t bytes, int protection, const std::filesystem::path& path)
      : bytes_(static_cast<std::size_t>(bytes)) {
    address_ = ::mmap(nullptr, bytes_, protection, MAP_SHARED, fd, 0);
    require(address_ != MAP_FAILED, errno == ENOMEM ? ErrorCode::kOutOfMemory : ErrorCode::kInternal, "{}: cannot be mapped: {}", shown(path),
            std::strerror(errno));
  }
  Mapping(const Mapping&) = delete;
  ~Mapping() { ::munmap(address_, bytes_); }
  std::byte* data() const { return static_cast<std::byte*>(address_); }

 private:
  void* address_;
  std::size_t bytes_;
};

// Of a sparse matrix: offsets, then values, then columns, each at a multiple of 8 bytes.
struct SparseLayout {
  std::int64_t values, columns, bytes;   // from the begin of the offsets

  explicit SparseLayout(const DatasetMeta& meta) {
    const std::int64_t width = meta.is_float32 ? 4 : 8, n = meta.n_entries;
    values = (meta.n_rows + 1) * 8;
    columns = values + (n * width + 7) / 8 * 8;
    bytes = columns + (n * 4 + 7) / 8 * 8;
  }
};

template <class T, class Byte>
SparseSpans<T> sparse_spans(const DatasetMeta& meta, Byte* data) {
  if (!meta.is_sparse() || meta.is_float32 != std::is_same_v<const T, const float>) return {};
  const SparseLayout layout(meta);
  using Spans = SparseSpans<T>;
  const auto n = static_cast<std::size_t>(meta.n_entries);
  return {{reinterpret_cast<typename Spans::template Like<std::int64_t>*>(data), static_cast<std::size_t>(meta.n_rows + 1)},
          {reinterpret_cast<typename Spans::template Like<std::int32_t>*>(data + layout.columns), n},
          {reinterpret_cast<T*>(data + layout.values), n}};
}

// Column of the first n_rows rows; nothing of the offsets is believed.
template <class T>
std::vector<double> sparse_column(const SparseSpans<const T>& matrix, std::int64_t column, std::int64_t n_rows, const std::string& name) {
  std::vector<double> result(static_cast<std::size_t>(n_rows), 0.0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t begin = matrix.offsets[i], end = matrix.offsets[i + 1];
    require(0 <= begin && begin <= end && end <= static_cast<std::int64_t>(matrix.values.size()), ErrorCode::kDatasetCorrupt,
            "{}: its rows make no sense", name);
    const auto first = matrix.columns.begin() + begin, last = matrix.columns.begin() + end, found = std::lower_bound(first, last, column);
    if (found != last && *found == column) result[i] = static_cast<double>(matrix.values[static_cast<std::size_t>(found - matrix.columns.begin())]);
  }
  return result;
}

template <class T>
std::vector<double> dense_column(std::span<const T> values, std::int64_t stride, std::int64_t column, std::int64_t n_rows) {
  std::vector<double> result(static_cast<std::size_t>(n_rows));
  for (std::int64_t i = 0; i < n_rows; ++i)
    result[static_cast<std::size_t>(i)] = static_cast<double>(values[static_cast<std::size_t>(i * stride + column)]);
  return result;
}

std::int64_t values_bytes(const DatasetMeta& meta) {
  const std::int64_t width = meta.is_float32 ? 4 : 8;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 64;
  if (meta.is_sparse()) {
    require(meta.n_rows >= 0 && meta.n_rows < kMost && meta.n_entries < kMost, ErrorCode::kInvalidValue, "{}: {} rows with {} values is too large",
            meta.name, meta.n_rows, meta.n_entries);
    return SparseLayout(meta).bytes;
  }
  std::int64_t cells = 0;
  const bool fits = meta.n_rows >= 0 && meta.n_values_columns >= 0 &&
                    !__builtin_mul_overflow(meta.n_rows, meta.n_values_columns, &cells) &&
                    cells < std::numeric_limits<std::int64_t>::max() / 16;
  require(fits, ErrorCode::kInvalidValue, "{}: {} rows x {} columns is too large", meta.name, meta.n_rows,
          meta.n_values_columns);
  return cells * width;
}

Descriptor open_for_reading(const std::filesystem::path& path) {
  Descriptor fd(open_to_read(path));
  const bool is_the_systems = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EACCES;   // and says nothing of the file
  require(fd.get() >= 0, is_the_systems ? ErrorCode::kOutOfMemory : ErrorCode::kDatasetCorrupt, "{}: cannot be opened: {}", shown(path),
          std::strerror(errno));
  return fd;
}

std::int64_t size_of(const Descriptor& fd) {
  struct stat status {};
  return ::fstat(fd.get(), &status) == 0 ? status.st_size : -1;
}

Descriptor create_part(const std::filesystem::path& part, std::int64_t bytes) {
  ::unlink(part.c_str());   // of a writer that was killed; and a link is not followed
  Descriptor fd(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  require(fd.get() >= 0, disk_error(errno), "{}: cannot be created: {}", shown(part), std::strerror(errno));
  if (const int error = ::posix_fallocate(fd.get(), 0, bytes); error != 0) {
    ::unlink(part.c_str());
    throw schema::Error(disk_error(error),
                        fmt::format("{}: no room for {} bytes: {}", shown(part), bytes, std::strerror(error)));
  }
  return fd;
}

// Makes the new name of the file survive a power cut.
void sync_directory(const std::filesystem::path& file) {
  const auto parent = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const Descriptor fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

std::uint64_t hash_of_values(const std::byte* file, std::int64_t size) {
  return content_hash_in_blocks({file + kDatasetValuesOffset, static_cast<std::size_t>(size)});
}

// Of values that are in the file.
std::uint64_t hash_in_file(int fd, const DatasetMeta& meta, const std::filesystem::path& part) {
  const std::int64_t size = values_bytes(meta);
  return hash_of_values(Mapping(fd, kDatasetValuesOffset + size, PROT_READ, part).data(), size);
}

// Metadata and head around values that are there; then the file gets its name, once all is on disk.
void finish_file(int fd, const DatasetMeta& meta, std::uint64_t hash, const std::filesystem::path& part, const std::filesystem::path& path) {
  const std::int64_t size = values_bytes(meta);
  const std::string text = encode_meta(meta);
  write_all(fd, std::as_bytes(std::span(text)), kDatasetValuesOffset + size, part);
  Head head{
      {},  kVersion, kByteOrder, kDatasetValuesOffset, size, static_cast<std::int64_t>(text.size()), meta_hash(text),
      hash};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  write_all(fd, std::as_bytes(std::span(&head, 1)), 0, part);
  require(::fsync(fd) == 0, disk_error(errno), "{}: fsync failed: {}", shown(part), std::strerror(errno));
  require(::rename(part.c_str(), path.c_str()) == 0, disk_error(errno), "{}: cannot be renamed: {}", shown(part),
          std::strerror(errno));
  sync_directory(path);
}

std::filesystem::path part_of(const std::filesystem::path& path) {
  std::filesystem::path part = path;
  part += ".part";
  return part;
}

// Everything that the head claims must fit the file before any of it is believed.
Head checked_head(const std::byte* file, std::int64_t file_bytes, const std::string& path) {
  Head head;
  std::memcpy(&head, file, sizeof head);
  const auto corrupt = [&](const char* what) {
    throw schema::Error(ErrorCode::kDatasetCorrupt, fmt::format("{}: {}", path, what));
  };
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) corrupt("not a Kedge data set file");
  if (head.version != kVersion) corrupt("data set file of another version");
  if (head.byte_order != kByteOrder) corrupt("data set file of another byte order");
  const std::int64_t rest = file_bytes - kDatasetValuesOffset;
  if (head.values_offset != kDatasetValuesOffset || head.values_bytes < 0 || head.values_bytes > rest ||
      head.meta_bytes < 0 || head.meta_bytes != rest - head.values_bytes)
    corrupt("the sizes in its head do not fit the file");
  return head;
}

}  // namespace

bool DatasetMeta::has_column(std::string_view name) const {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size() && std::to_string(number) == name;
  if (is_number && number >= indexed.first && number - indexed.first < indexed.count) return true;
  return std::ranges::any_of(columns, [&](const ColumnInfo& column) { return column.name == name; });
}

void DatasetMeta::name_columns() {
  std::vector<ColumnInfo> all(static_cast<std::size_t>(n_columns()));
  for (std::int64_t i = 0; i < indexed.count; ++i) {
    ColumnInfo& column = all[static_cast<std::size_t>(i)];
    column.name = std::to_string(indexed.first + i), column.values_column = i;
  }
  std::ranges::move(columns, all.begin() + indexed.count);
  columns = std::move(all);
  indexed = {};
}

struct DatasetFile::Impl {
  Mapping mapping;
  DatasetMeta meta;
  Head head;
};

DatasetFile::DatasetFile(const std::filesystem::path& path) {
  const Descriptor fd = open_for_reading(path);
  const std::int64_t bytes = size_of(fd);
  require(bytes >= kDatasetValuesOffset, ErrorCode::kDatasetCorrupt, "{}: truncated to {} bytes", shown(path), bytes);
  impl_ = std::unique_ptr<Impl>(new Impl{Mapping(fd.get(), bytes, PROT_READ, path), {}, {}});
  const Head head = impl_->head = checked_head(impl_->mapping.data(), bytes, shown(path));
  const auto* meta_text =
      reinterpret_cast<const char*>(impl_->mapping.data()) + kDatasetValuesOffset + head.values_bytes;
  const std::string_view text(meta_text, static_cast<std::size_t>(head.meta_bytes));
  require(meta_hash(text) == head.meta_hash, ErrorCode::kDatasetCorrupt, "{}: its metadata is damaged", shown(path));
  impl_->meta = decode_meta(text, shown(path));
  require(values_bytes(impl_->meta) == head.values_bytes, ErrorCode::kDatasetCorrupt,
          "{}: its values do not fit its metadata", shown(path));
  if (impl_->meta.indexed.count <= kNamedAtOnce) impl_->meta.name_columns();
}

DatasetFile::~DatasetFile() = default;
DatasetFile::DatasetFile(DatasetFile&&) noexcept = default;

const DatasetMeta& DatasetFile::meta() const { return impl_->meta; }

void DatasetFile::set_name(std::string name) { impl_->meta.name = std::move(name); }

void DatasetFile::name_columns() { impl_->meta.name_columns(); }

bool DatasetFile::values_are_whole() const {
  return hash_of_values(impl_->mapping.data(), impl_->head.values_bytes) == impl_->head.values_hash;
}

std::span<const float> DatasetFile::values_f32() const {
  const DatasetMeta& m = impl_->meta;
  if (!m.is_float32 || m.is_sparse()) return {};
  const auto* first = reinterpret_cast<const float*>(impl_->mapping.data() + kDatasetValuesOffset);
  return {first, static_cast<std::size_t>(m.n_rows * m.n_values_columns)};
}

std::span<const double> DatasetFile::values_f64() const {
  const DatasetMeta& m = impl_->meta;
  if (m.is_float32 || m.is_sparse()) return {};
  const auto* first = reinterpret_cast<const double*>(impl_->mapping.data() + kDatasetValuesOffset);
  return {first, static_cast<std::size_t>(m.n_rows * m.n_values_columns)};
}

SparseSpans<const float> DatasetFile::sparse_f32() const {
  return sparse_spans<const float>(impl_->meta,
                                   static_cast<const std::byte*>(impl_->mapping.data()) + kDatasetValuesOffset);
}

SparseSpans<const double> DatasetFile::sparse_f64() const {
  return sparse_spans<const double>(impl_->meta,
                                    static_cast<const std::byte*>(impl_->mapping.data()) + kDatasetValuesOffset);
}

std::vector<double> DatasetFile::column(std::int64_t values_column, std::int64_t n_rows) const {
  const DatasetMeta& m = impl_->meta;
  if (m.is_sparse() && m.is_float32) return sparse_column(sparse_f32(), values_column, n_rows, m.name);
  if (m.is_sparse()) return sparse_column(sparse_f64(), values_column, n_rows, m.name);
  if (m.is_float32) return dense_column(values_f32(), m.n_values_columns, values_column, n_rows);
  return dense_column(values_f64(), m.n_values_columns, values_column, n_rows);
}

struct DatasetFileWriter::Impl {
  std::filesystem::path path, part;
  DatasetMeta meta;
  std::int64_t values_size;
  Descriptor fd;
  std::unique_ptr<Mapping> mapping;
  bool finished = false;

  ~Impl() {
    if (!finished) ::unlink(part.c_str());
  }
};

DatasetFileWriter::DatasetFileWriter(const std::filesystem::path& path, const DatasetMeta& meta) {
  std::filesystem::path part = part_of(path);
  const std::int64_t size = values_bytes(meta);
  Descriptor fd = create_part(part, kDatasetValuesOffset + size);
  impl_ = std::unique_ptr<Impl>(new Impl{path, std::move(part), meta, size, std::move(fd), nullptr});
  impl_->mapping =
      std::make_unique<Mapping>(impl_->fd.get(), kDatasetValuesOffset + size, PROT_READ | PROT_WRITE, impl_->part);
}

DatasetFileWriter::~DatasetFileWriter() = default;
DatasetFileWriter::DatasetFileWriter(DatasetFileWriter&&) noexcept = default;

DatasetMeta& DatasetFileWriter::meta() { return impl_->meta; }

std::span<float> DatasetFileWriter::values_f32() {
  if (!impl_->meta.is_float32 || impl_->meta.is_sparse()) return {};
  return {reinterpret_cast<float*>(impl_->mapping->data() + kDatasetValuesOffset),
          static_cast<std::size_t>(impl_->values_size / 4)};
}

std::span<double> DatasetFileWriter::values_f64() {
  if (impl_->meta.is_float32 || impl_->meta.is_sparse()) return {};
  return {reinterpret_cast<double*>(impl_->mapping->data() + kDatasetValuesOffset),
          static_cast<std::size_t>(impl_->values_size / 8)};
}

SparseSpans<float> DatasetFileWriter::sparse_f32() {
  return sparse_spans<float>(impl_->meta, impl_->mapping->data() + kDatasetValuesOffset);
}

SparseSpans<double> DatasetFileWriter::sparse_f64() {
  return sparse_spans<double>(impl_->meta, impl_->mapping->data() + kDatasetValuesOffset);
}

void DatasetFileWriter::rows_done(std::int64_t first_row, std::int64_t n_rows) {
  const Impl& w = *impl_;
  const std::int64_t row_bytes = w.meta.n_values_columns * (w.meta.is_float32 ? 4 : 8);
  start_write_back(w.fd.get(), kDatasetValuesOffset + first_row * row_bytes, n_rows * row_bytes);
}

void DatasetFileWriter::finish() {
  Impl& w = *impl_;
  require(values_bytes(w.meta) == w.values_size, ErrorCode::kInternal, "{}: the shape changed while it was written",
          shown(w.path));
  const std::uint64_t hash = hash_of_values(w.mapping->data(), w.values_size);
  w.mapping.reset();
  finish_file(w.fd.get(), w.meta, hash, w.part, w.path);
  w.finished = true;
}

constexpr double kLarge = 64 << 20;   // larger values are not kept in memory for the next reader

struct DatasetRowsWriter::Impl {
  std::filesystem::path path, part;
  DatasetMeta meta;
  Descriptor fd;
  std::unique_ptr<BlockHashes> hashes = std::make_unique<BlockHashes>();   // null once rows were widened
  std::unique_ptr<SequentialFile> sequential = nullptr;                     // null: rows come in any order
  std::int64_t rows = 0;                                                    // that came in order
  bool finished = false;

  ~Impl() {
    if (!finished) ::unlink(part.c_str());
  }

  std::int64_t row_bytes() const { return meta.n_values_columns * (meta.is_float32 ? 4 : 8); }

  void write(std::int64_t first_row, std::span<const std::byte> bytes) {
    const std::int64_t offset = first_row * row_bytes();
    require(!sequential || first_row == rows, ErrorCode::kInternal, "{}: row {} after {} rows", shown(path), first_row, rows);
    if (hashes) hashes->add(static_cast<std::uint64_t>(offset), bytes);
    if (sequential) {
      sequential->write(bytes);
      rows += static_cast<std::int64_t>(bytes.size()) / row_bytes();
    } else {
      write_all(fd.get(), bytes, kDatasetValuesOffset + offset, part);
      start_write_back(fd.get(), kDatasetValuesOffset + offset, static_cast<std::int64_t>(bytes.size()));
    }
  }
};

DatasetRowsWriter::DatasetRowsWriter(const std::filesystem::path& path, const DatasetMeta& meta, RowOrder order) {
  std::filesystem::path part = part_of(path);
  Descriptor fd = create_part(part, kDatasetValuesOffset);
  impl_ = std::unique_ptr<Impl>(new Impl{path, std::move(part), meta, std::move(fd)});
  if (order == RowOrder::kAny) return;
  const bool is_large = static_cast<double>(meta.n_rows) * static_cast<double>(impl_->row_bytes()) >= kLarge;   // as it claims to be
  impl_->sequential = std::make_unique<SequentialFile>(impl_->fd.get(), kDatasetValuesOffset, is_large, impl_->part);
}

DatasetRowsWriter::~DatasetRowsWriter() = default;

DatasetMeta& DatasetRowsWriter::meta() { return impl_->meta; }

void DatasetRowsWriter::write(std::int64_t first_row, std::span<const float> values) {
  require(impl_->meta.is_float32, ErrorCode::kInternal, "{}: float32 rows for a float64 file", shown(impl_->path));
  impl_->write(first_row, std::as_bytes(values));
}

void DatasetRowsWriter::write(std::int64_t first_row, std::span<const double> values) {
  require(!impl_->meta.is_float32, ErrorCode::kInternal, "{}: float64 rows for a float32 file", shown(impl_->path));
  impl_->write(first_row, std::as_bytes(values));
}

void DatasetRowsWriter::write_bytes(std::int64_t first_row, std::string_view bytes) {
  impl_->write(first_row, std::as_bytes(std::span(bytes)));
}

void DatasetRowsWriter::widen(std::int64_t n_rows) {
  constexpr std::int64_t kCells = std::int64_t{1} << 18;
  Impl& w = *impl_;
  require(!w.sequential, ErrorCode::kInternal, "{}: rows in order keep their type", shown(w.path));
  std::vector<float> narrow(kCells);
  std::vector<double> wide(kCells);
  // From the end, because a cell's new place is never before its old one.
  for (std::int64_t left = n_rows * w.meta.n_values_columns; left > 0;) {
    const std::int64_t count = std::min(left, kCells), first = left - count;
    const ssize_t got =
        ::pread(w.fd.get(), narrow.data(), static_cast<std::size_t>(count * 4), kDatasetValuesOffset + first * 4);
    require(got >= 0, ErrorCode::kInternal, "{}: cannot be read: {}", shown(w.part), std::strerror(errno));
    std::copy_n(narrow.begin(), count, wide.begin());   // what lies beyond the end of the file is not written yet
    write_all(w.fd.get(), std::as_bytes(std::span(wide).first(static_cast<std::size_t>(count))),
              kDatasetValuesOffset + first * 8, w.part);
    left = first;
  }
  w.meta.is_float32 = false;
  w.hashes.reset();
}

void DatasetRowsWriter::finish() {
  Impl& w = *impl_;
  if (w.sequential) w.sequential->finish();
  const auto size = static_cast<std::uint64_t>(values_bytes(w.meta));
  const std::uint64_t hash = w.hashes ? w.hashes->digest(size) : hash_in_file(w.fd.get(), w.meta, w.part);
  finish_file(w.fd.get(), w.meta, hash, w.part, w.path);
  w.finished = true;
}

}  // namespace kedge::engine
