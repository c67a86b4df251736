// The data set file: a 4096-byte head, the values, then the metadata in a small binary form of its own.
#include "engine/core/dataset_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/core/dataset_meta_codec.h"
#include "engine/core/require.h"

namespace kedge::engine {
namespace {

using schema::ErrorCode;

constexpr char kMagic[8] = {'K', 'E', 'D', 'G', 'E', 'D', 'S', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kByteOrder = 0x01020304;   // read as another number on a machine of the other byte order
constexpr std::int64_t kValuesOffset = 4096;       // a page, so that values are aligned to 64 bytes and more

// The values come before the metadata because categories and missing counts are known only when all values are.
struct Head {
  char magic[8];
  std::uint32_t version, byte_order;
  std::int64_t values_offset, values_bytes, meta_bytes;
  std::uint64_t meta_hash;
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
    require(address_ != MAP_FAILED, ErrorCode::kInternal, "{}: cannot be mapped: {}", path.string(), std::strerror(errno));
  }
  Mapping(const Mapping&) = delete;
  ~Mapping() { ::munmap(address_, bytes_); }
  std::byte* data() const { return static_cast<std::byte*>(address_); }

 private:
  void* address_;
  std::size_t bytes_;
};

std::int64_t values_bytes(const DatasetMeta& meta) {
  const std::int64_t width = meta.is_float32 ? 4 : 8;
  std::int64_t cells = 0;
  const bool fits = meta.n_rows >= 0 && meta.n_values_columns >= 0 &&
                    !__builtin_mul_overflow(meta.n_rows, meta.n_values_columns, &cells) &&
                    cells < std::numeric_limits<std::int64_t>::max() / 16;
  require(fits, ErrorCode::kInvalidValue, "{}: {} rows x {} columns is too large", meta.name, meta.n_rows,
          meta.n_values_columns);
  return cells * width;
}

Descriptor open_for_reading(const std::filesystem::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  require(fd.get() >= 0, ErrorCode::kDatasetCorrupt, "{}: cannot be opened: {}", path.string(), std::strerror(errno));
  return fd;
}

std::int64_t size_of(const Descriptor& fd) {
  struct stat status {};
  return ::fstat(fd.get(), &status) == 0 ? status.st_size : -1;
}

Descriptor create_part(const std::filesystem::path& part, std::int64_t bytes) {
  Descriptor fd(::open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
  require(fd.get() >= 0, ErrorCode::kInternal, "{}: cannot be created: {}", part.string(), std::strerror(errno));
  if (const int error = ::posix_fallocate(fd.get(), 0, bytes); error != 0) {
    ::unlink(part.c_str());
    throw schema::Error(ErrorCode::kInternal,
                        fmt::format("{}: no room for {} bytes: {}", part.string(), bytes, std::strerror(error)));
  }
  return fd;
}

void write_all(int fd, const char* data, std::int64_t size, std::int64_t offset, const std::filesystem::path& path) {
  while (size > 0) {
    const ssize_t n = ::pwrite(fd, data, static_cast<std::size_t>(size), offset);
    if (n < 0 && errno == EINTR) continue;
    require(n > 0, ErrorCode::kInternal, "{}: write failed: {}", path.string(), std::strerror(n < 0 ? errno : ENOSPC));
    data += n, size -= n, offset += n;
  }
}

// Makes the new name of the file survive a power cut.
void sync_directory(const std::filesystem::path& file) {
  const auto parent = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const Descriptor fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
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
  const std::int64_t rest = file_bytes - kValuesOffset;
  if (head.values_offset != kValuesOffset || head.values_bytes < 0 || head.values_bytes > rest || head.meta_bytes < 0 ||
      head.meta_bytes != rest - head.values_bytes)
    corrupt("the sizes in its head do not fit the file");
  return head;
}

}  // namespace

struct DatasetFile::Impl {
  Mapping mapping;
  DatasetMeta meta;
};

DatasetFile::DatasetFile(const std::filesystem::path& path) {
  const Descriptor fd = open_for_reading(path);
  const std::int64_t bytes = size_of(fd);
  require(bytes >= kValuesOffset, ErrorCode::kDatasetCorrupt, "{}: truncated to {} bytes", path.string(), bytes);
  impl_ = std::unique_ptr<Impl>(new Impl{Mapping(fd.get(), bytes, PROT_READ, path), {}});
  const Head head = checked_head(impl_->mapping.data(), bytes, path.string());
  const auto* meta_text = reinterpret_cast<const char*>(impl_->mapping.data()) + kValuesOffset + head.values_bytes;
  const std::string_view text(meta_text, static_cast<std::size_t>(head.meta_bytes));
  require(meta_hash(text) == head.meta_hash, ErrorCode::kDatasetCorrupt, "{}: its metadata is damaged", path.string());
  impl_->meta = decode_meta(text, path.string());
  require(values_bytes(impl_->meta) == head.values_bytes, ErrorCode::kDatasetCorrupt,
          "{}: its values do not fit its metadata", path.string());
}

DatasetFile::~DatasetFile() = default;
DatasetFile::DatasetFile(DatasetFile&&) noexcept = default;

const DatasetMeta& DatasetFile::meta() const { return impl_->meta; }

std::span<const float> DatasetFile::values_f32() const {
  const DatasetMeta& m = impl_->meta;
  if (!m.is_float32) return {};
  const auto* first = reinterpret_cast<const float*>(impl_->mapping.data() + kValuesOffset);
  return {first, static_cast<std::size_t>(m.n_rows * m.n_values_columns)};
}

std::span<const double> DatasetFile::values_f64() const {
  const DatasetMeta& m = impl_->meta;
  if (m.is_float32) return {};
  const auto* first = reinterpret_cast<const double*>(impl_->mapping.data() + kValuesOffset);
  return {first, static_cast<std::size_t>(m.n_rows * m.n_values_columns)};
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
  std::filesystem::path part = path;
  part += ".part";
  const std::int64_t size = values_bytes(meta);
  Descriptor fd = create_part(part, kValuesOffset + size);
  impl_ = std::unique_ptr<Impl>(new Impl{path, std::move(part), meta, size, std::move(fd), nullptr});
  impl_->mapping = std::make_unique<Mapping>(impl_->fd.get(), kValuesOffset + size, PROT_READ | PROT_WRITE, impl_->part);
}

DatasetFileWriter::~DatasetFileWriter() = default;
DatasetFileWriter::DatasetFileWriter(DatasetFileWriter&&) noexcept = default;

DatasetMeta& DatasetFileWriter::meta() { return impl_->meta; }

std::span<float> DatasetFileWriter::values_f32() {
  if (!impl_->meta.is_float32) return {};
  return {reinterpret_cast<float*>(impl_->mapping->data() + kValuesOffset), static_cast<std::size_t>(impl_->values_size / 4)};
}

std::span<double> DatasetFileWriter::values_f64() {
  if (impl_->meta.is_float32) return {};
  return {reinterpret_cast<double*>(impl_->mapping->data() + kValuesOffset), static_cast<std::size_t>(impl_->values_size / 8)};
}

void DatasetFileWriter::rows_done(std::int64_t first_row, std::int64_t n_rows) {
  const Impl& w = *impl_;
  const std::int64_t row_bytes = w.meta.n_values_columns * (w.meta.is_float32 ? 4 : 8);
  // A hint: finish() waits for what is not on disk by then, and reports what fails.
  ::sync_file_range(w.fd.get(), kValuesOffset + first_row * row_bytes, n_rows * row_bytes, SYNC_FILE_RANGE_WRITE);
}

void DatasetFileWriter::finish() {
  Impl& w = *impl_;
  require(values_bytes(w.meta) == w.values_size, ErrorCode::kInternal, "{}: the shape changed while it was written",
          w.path.string());
  const std::string text = encode_meta(w.meta);
  write_all(w.fd.get(), text.data(), static_cast<std::int64_t>(text.size()), kValuesOffset + w.values_size, w.part);
  Head head{{}, kVersion, kByteOrder, kValuesOffset, w.values_size, static_cast<std::int64_t>(text.size()), meta_hash(text)};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  std::memcpy(w.mapping->data(), &head, sizeof head);
  w.mapping.reset();
  require(::fsync(w.fd.get()) == 0, ErrorCode::kInternal, "{}: fsync failed: {}", w.part.string(), std::strerror(errno));
  require(::rename(w.part.c_str(), w.path.c_str()) == 0, ErrorCode::kInternal, "{}: cannot be renamed: {}", w.part.string(),
          std::strerror(errno));
  w.finished = true;
  sync_directory(w.path);
}

}  // namespace kedge::engine
