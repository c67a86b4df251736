// Header, checksum, mapping and writing of stored models.
#include "engine/core/model_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "engine/core/disk_error.h"
#include "engine/core/file_output.h"
#include "engine/core/lent_file.h"
#include "engine/core/require.h"
#include "engine/core/stop.h"
#include "schemas/codec.h"

namespace kedge::engine {
namespace {

using schema::Error;
using schema::ErrorCode;

constexpr std::array<char, 8> kMagic{'K', 'E', 'D', 'G', 'E', 'M', 'D', 'L'};
constexpr std::uint32_t kVersion = 1, kByteOrder = 0x01020304;
constexpr std::size_t kPending = 64 << 10;
constexpr std::size_t kWrittenAtOnce = 8 << 20;   // whole blocks; a cancelled job ends between two
constexpr std::size_t kMostReserved = 64 << 20;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion, byte_order = kByteOrder;
  std::uint64_t file_size = 0, tensor_bytes = 0, state_size = 0, info_size = 0;
  std::uint64_t reserved = 0;
  std::uint64_t checksum = 0;   // of the bytes before it and of all that follows the header
};
static_assert(sizeof(Header) == kModelAlignment);

// Four lanes of multiply and rotate, as xxHash has them. Each step is a bijection of its lane, so that no change of a single word
// goes unseen. Takes whole blocks.
class Checksum {
 public:
  void update(std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at + 32 <= bytes.size(); at += 32) {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at + lane * 8, 8);
        lanes_[lane] = std::rotl(lanes_[lane] + word * kSecond, 31) * kFirst;
      }
    }
  }
  std::uint64_t value() const {
    std::uint64_t mixed = 0;
    for (const std::uint64_t lane : lanes_) mixed = std::rotl(mixed ^ lane, 29) * kFirst + kSecond;
    return mixed ^ (mixed >> 32);
  }

 private:
  static constexpr std::uint64_t kFirst = 0x9E3779B185EBCA87, kSecond = 0xC2B2AE3D27D4EB4F;
  std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
};

std::span<const std::byte> bytes_of(const Header& header) { return std::as_bytes(std::span(&header, 1)); }

// The checksum of a header, in which the header's own checksum counts as 0, and of what follows it.
std::uint64_t checksum_of(Header header, const Checksum& rest) {
  header.checksum = 0;
  Checksum sum = rest;
  sum.update(bytes_of(header));
  return sum.value();
}

template <class... Args>
void require_model(bool ok, fmt::format_string<Args...> text, Args&&... args) {
  if (!ok) throw Error(ErrorCode::kModelCorrupt, "model: " + fmt::format(text, std::forward<Args>(args)...));
}

[[noreturn]] void throw_system_error(const char* what, const std::filesystem::path& path) {
  throw Error(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInternal,
              fmt::format("{} {}: {}", what, shown(path), std::generic_category().message(errno)));
}

Header checked_header(std::span<const std::byte> file) {
  require_model(file.size() >= sizeof(Header), "{} bytes are too few for a model", file.size());
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  require_model(header.magic == kMagic, "the first bytes are not those of a model of kedge");
  require_model(header.byte_order == kByteOrder, "the byte order is not little-endian");
  require_model(header.version == kVersion, "version {} is not known, this program reads version {}", header.version, kVersion);
  require_model(header.file_size == file.size(), "it has {} bytes, its header says {}", file.size(), header.file_size);
  const std::uint64_t size = file.size();
  require_model(size % kModelAlignment == 0 && header.tensor_bytes <= size && header.state_size <= size && header.info_size <= size,
                "its header gives a part more than the whole");
  require_model(header.tensor_bytes % kModelAlignment == 0 &&
                    sizeof header + header.tensor_bytes + padded_size(header.state_size) + padded_size(header.info_size) == size,
                "the sizes in its header do not add up to {} bytes", size);
  Checksum sum;
  sum.update(file.subspan(sizeof header));
  require_model(checksum_of(header, sum) == header.checksum, "its checksum does not match: it is damaged");
  return header;
}

}  // namespace

struct ModelFile::Impl {
  std::span<const std::byte> file, tensors, state;
  schema::ModelInfo info;
  bool is_mapped = false;

  ~Impl() {
    if (is_mapped) ::munmap(const_cast<std::byte*>(file.data()), file.size());
  }
  void read() {
    const Header header = checked_header(file);
    tensors = file.subspan(sizeof header, header.tensor_bytes);
    state = file.subspan(sizeof header + header.tensor_bytes, header.state_size);
    const std::size_t info_begin = sizeof header + header.tensor_bytes + padded_size(header.state_size);
    try {
      info = schema::from_binary<schema::ModelInfo>(file.subspan(info_begin, header.info_size));
    } catch (const Error& error) {
      throw Error(ErrorCode::kModelCorrupt, "model: its description cannot be read: " + error.message);
    }
  }
};

ModelFile::ModelFile(std::span<const std::byte> borrowed) : impl_(std::make_unique<Impl>()) {
  impl_->file = borrowed;
  impl_->read();
}

ModelFile::ModelFile(const std::filesystem::path& path) : impl_(std::make_unique<Impl>()) {
  const int fd = open_to_read(path);
  if (fd < 0) throw_system_error("open", path);
  struct stat status {};
  void* mapped = MAP_FAILED;
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    mapped = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  }
  ::close(fd);
  require_model(status.st_size > 0, "the file is empty");
  if (mapped == MAP_FAILED) throw_system_error("map", path);
  impl_->file = {static_cast<const std::byte*>(mapped), static_cast<std::size_t>(status.st_size)};
  impl_->is_mapped = true;
  impl_->read();
}

ModelFile::~ModelFile() = default;
ModelFile::ModelFile(ModelFile&&) noexcept = default;
const schema::ModelInfo& ModelFile::info() const { return impl_->info; }
std::span<const std::byte> ModelFile::tensors() const { return impl_->tensors; }
std::span<const std::byte> ModelFile::state() const { return impl_->state; }

struct ModelFileWriter::Impl {
  std::filesystem::path path;
  std::size_t keep = 0;
  int fd = -1;   // until there is more than stays in memory
  bool is_finished = false;
  std::string state;
  Checksum checksum;
  std::uint64_t end = sizeof(Header);
  std::string pending = std::string(sizeof(Header), '\0');   // what comes before the end and is not written: models have many small tensors

  ~Impl() {
    if (fd < 0) return;
    ::close(fd);
    if (!is_finished) ::unlink(path.c_str());
  }
  void open() {
    fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) throw write_failure(path, errno);
  }
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (fd < 0) open();
    while (!bytes.empty()) {
      check_job_stop();
      const ssize_t written = ::pwrite(fd, bytes.data(), std::min(bytes.size(), kWrittenAtOnce), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw write_failure(path, errno);
      offset += static_cast<std::uint64_t>(written), bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  // Whole blocks first, then the rest with zeros behind it.
  void append(std::span<const std::byte> bytes) {
    const std::size_t whole = bytes.size() / kModelAlignment * kModelAlignment;
    append_blocks(bytes.first(whole));
    if (whole == bytes.size()) return;
    std::array<std::byte, kModelAlignment> last{};
    std::memcpy(last.data(), bytes.data() + whole, bytes.size() - whole);
    append_blocks(last);
  }
  void append_blocks(std::span<const std::byte> blocks) {
    for (std::span<const std::byte> left = blocks; !left.empty(); left = left.subspan(std::min(left.size(), kWrittenAtOnce))) {
      check_job_stop();
      checksum.update(left.first(std::min(left.size(), kWrittenAtOnce)));
    }
    const std::size_t most = std::max(kPending, keep);
    if (pending.size() + blocks.size() > most) flush();
    if (blocks.size() > most)
      write_at(end, blocks);
    else
      pending.append(reinterpret_cast<const char*>(blocks.data()), blocks.size());
    end += blocks.size();
  }
  void flush() {
    write_at(end - pending.size(), std::as_bytes(std::span(pending)));
    pending.clear();
  }
};

ModelFileWriter::ModelFileWriter(const std::filesystem::path& path, std::size_t keep) : impl_(std::make_unique<Impl>()) {
  impl_->path = path, impl_->keep = keep;
  impl_->pending.reserve(std::min(keep, kMostReserved));
}
ModelFileWriter::~ModelFileWriter() = default;
ModelFileWriter::ModelFileWriter(ModelFileWriter&&) noexcept = default;

void ModelFileWriter::add_tensor(std::span<const std::byte> values) { impl_->append(values); }
std::string& ModelFileWriter::state() { return impl_->state; }

std::string ModelFileWriter::finish(const schema::ModelInfo& info) {
  const std::vector<std::byte> description = schema::to_binary(info);
  Header header{.tensor_bytes = impl_->end - sizeof(Header), .state_size = impl_->state.size(), .info_size = description.size()};
  impl_->append(std::as_bytes(std::span(impl_->state)));
  impl_->append(description);
  header.file_size = impl_->end;
  header.checksum = checksum_of(header, impl_->checksum);
  if (impl_->fd < 0 && impl_->end <= impl_->keep) {
    std::memcpy(impl_->pending.data(), &header, sizeof header);
    return std::move(impl_->pending);
  }
  impl_->flush();
  impl_->write_at(0, bytes_of(header));
  impl_->is_finished = true;
  return {};
}

void seal_model(std::span<std::byte> file) {
  if (file.size() < sizeof(Header)) return;
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  Checksum sum;
  sum.update(file.subspan(sizeof header));
  header.checksum = checksum_of(header, sum);
  std::memcpy(file.data(), &header, sizeof header);
}

}  // namespace kedge::engine
